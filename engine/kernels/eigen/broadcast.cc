// AddV2, Sub, Mul and RealDiv with numpy's broadcasting, and MeanGrad, which repeats dy. Adjacent
// dimensions that are repeated alike are taken together, so that most shapes are rows of two
// vectors, or of a vector and a number.

#include "engine/kernels/eigen/views.h"
#include "engine/kernels/factories.h"
#include "engine/kernels/loop_kernel.h"
#include "engine/kernels/parameters.h"

namespace cosched::eigen {
namespace {

constexpr int64_t kPart = 4096;  // Elements of a long row that are an item of their own.

// Dimensions of the result that both operands go along, or one of them, or the other.
struct Run {
  int64_t size;
  bool a_moves, b_moves;
};

// From the last one on. REQUIRES: shapes of one rank.
std::vector<Run> RunsOf(const Shape& a, const Shape& b, const Shape& result) {
  std::vector<Run> runs;
  for (int d = result.Rank(); d-- > 0;) {
    if (result[d] == 1) continue;
    const Run run{result[d], a[d] > 1, b[d] > 1};
    const bool same =
        !runs.empty() && runs.back().a_moves == run.a_moves && runs.back().b_moves == run.b_moves;
    if (same) {
      runs.back().size *= run.size;
    } else {
      runs.push_back(run);
    }
  }
  if (runs.empty()) runs.push_back({1, false, false});
  return runs;
}

// Which elements of a and b meet in each row of the result.
class BroadcastRows {
 public:
  BroadcastRows(const Shape& a, const Shape& b, const Shape& result)
      : row_(RunsOf(a, b, result).front()),
        outer_(RunsOf(a, b, result)),
        parts_((row_.size + kPart - 1) / kPart) {
    outer_.erase(outer_.begin());
  }

  // Each a part of a row.
  int64_t Items() const {
    int64_t items = parts_;
    for (const Run& run : outer_) items *= run.size;
    return items;
  }
  double BytesOfItem(DataType type) const {
    return 3.0 * static_cast<double>(SizeOf(type)) * static_cast<double>(row_.size) /
           static_cast<double>(parts_);
  }

  // y = op(a, b) for these items. op takes two arrays, or an array and a number on either side.
  template <typename T, typename U, typename Op>
  void Compute(int64_t begin, int64_t end, const T* a, const U* b, T* y, Op op) const {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t row = item / parts_, first = item % parts_ * kPart;
      const int64_t length = std::min(kPart, row_.size - first);
      const auto [at_a, at_b] = Offsets(row, first);
      T* to = y + row * row_.size + first;
      if (row_.a_moves && row_.b_moves) {
        Store(op(Load(a + at_a, length), Load(b + at_b, length)), to);
      } else if (row_.a_moves) {
        Store(op(Load(a + at_a, length), static_cast<float>(b[at_b])), to);
      } else if (row_.b_moves) {
        Store(op(static_cast<float>(a[at_a]), Load(b + at_b, length)), to);
      } else {
        std::fill_n(to, length, T(op(static_cast<float>(a[at_a]), static_cast<float>(b[at_b]))));
      }
    }
  }

 private:
  // The offsets of the operands' elements at a row's element.
  std::pair<int64_t, int64_t> Offsets(int64_t row, int64_t element) const {
    int64_t in_a = row_.a_moves ? element : 0, in_b = row_.b_moves ? element : 0;
    int64_t step_a = row_.a_moves ? row_.size : 1, step_b = row_.b_moves ? row_.size : 1;
    for (const Run& run : outer_) {
      const int64_t at = row % run.size;
      row /= run.size;
      if (run.a_moves) {
        in_a += at * step_a;
        step_a *= run.size;
      }
      if (run.b_moves) {
        in_b += at * step_b;
        step_b *= run.size;
      }
    }
    return {in_a, in_b};
  }

  Run row_;
  std::vector<Run> outer_;  // From the last one on.
  int64_t parts_;           // Parts of a row.
};

template <typename Op>
std::unique_ptr<Kernel> MakeBroadcast(const KernelSpec& spec, Op op) {
  const Shape& result = spec.node.outputs[0].shape;
  const BroadcastRows rows(WithRank(spec.inputs[0].shape, result.Rank()),
                           WithRank(spec.inputs[1].shape, result.Rank()), result);
  return ForImages(spec.inputs[0], [&](auto element) {
    using T = decltype(element);
    return LoopOver(spec, rows.Items(), rows.BytesOfItem(spec.inputs[0].type),
                    [=](KernelContext& context, int64_t, int64_t begin, int64_t end) {
                      rows.Compute(begin, end, In<T>(context, 0), In<T>(context, 1),
                                   Out<T>(context, 0), op);
                    });
  });
}

}  // namespace

std::unique_ptr<Kernel> MakeAddV2(const KernelSpec& spec) {
  return MakeBroadcast(spec, [](const auto& a, const auto& b) { return a + b; });
}
std::unique_ptr<Kernel> MakeSub(const KernelSpec& spec) {
  return MakeBroadcast(spec, [](const auto& a, const auto& b) { return a - b; });
}
std::unique_ptr<Kernel> MakeMul(const KernelSpec& spec) {
  return MakeBroadcast(spec, [](const auto& a, const auto& b) { return a * b; });
}
std::unique_ptr<Kernel> MakeRealDiv(const KernelSpec& spec) {
  return MakeBroadcast(spec, [](const auto& a, const auto& b) { return a / b; });
}

std::unique_ptr<Kernel> MakeMeanGrad(const KernelSpec& spec) {
  const Reduction reduction = ReadMean(spec.node, spec.node.outputs[0].shape);
  const Shape scalar = WithRank({}, reduction.input.Rank());
  const BroadcastRows rows(reduction.kept, scalar, reduction.input);
  return LoopOver(spec, rows.Items(), rows.BytesOfItem(DataType::kFloat),
                  [rows, factor = 1.0f / static_cast<float>(reduction.Count())](
                      KernelContext& context, int64_t, int64_t begin, int64_t end) {
                    rows.Compute(begin, end, In(context, 0), &factor, Out(context, 0),
                                 [](const auto& a, const auto& b) { return a * b; });
                  });
}

}  // namespace cosched::eigen
