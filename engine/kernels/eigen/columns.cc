// Ops over the columns of matrices: BiasAdd, BiasAddGrad and Mean. Channels are often few (6 in
// LeNet's first layer), too short a run for vector instructions, so all work on wide rows: as many
// rows at once as fill some vectors. (Eigen's own reduction takes ten times as long on 16
// channels.)

#include "engine/kernels/blocks.h"
#include "engine/kernels/eigen/views.h"
#include "engine/kernels/factories.h"
#include "engine/kernels/parameters.h"

namespace cosched::eigen {
namespace {

constexpr int64_t kWide = 256;  // Floats of a wide row, at least.
constexpr int64_t kParts =
    64;  // Most partial sums of one column: they are added one after the other.

// Floats of a wide row of a matrix.
int64_t WideRow(int64_t rows, int64_t channels) {
  return std::min((kWide + channels - 1) / channels, std::max<int64_t>(rows, 1)) * channels;
}

// sums[channels] of a matrix of `elements`; wide is scratch, a wide row of it.
template <typename T>
void SumColumns(const T* matrix, int64_t elements, int64_t channels, Eigen::ArrayXf* wide,
                Array sums) {
  wide->setZero();
  int64_t at = 0;
  for (; at + wide->size() <= elements; at += wide->size())
    *wide += Load(matrix + at, wide->size());
  wide->head(elements - at) += Load(matrix + at, elements - at);
  sums.setZero();
  for (int64_t c = 0; c < wide->size(); c += channels) sums += wide->segment(c, channels);
}

// Sums over the middle dimension, times a factor. The middle is taken in parts where there are too
// few outer rows to keep many threads busy.
class MiddleSum {
 public:
  explicit MiddleSum(const MiddleReduction& reduction)
      : reduction_(reduction),
        parts_(reduction.outer > 1 ? Blocks{reduction.middle, reduction.middle}
                                   : Blocks::Of(reduction.middle, reduction.inner, kParts)),
        tasks_(Blocks::Of(reduction.outer * parts_.Number(), parts_.size * reduction.inner)),
        wide_(static_cast<size_t>(tasks_.Number()),
              Eigen::ArrayXf(WideRow(parts_.size, reduction.inner))),
        partial_(reduction.inner, reduction.outer * parts_.Number()) {}

  template <typename T>
  void Compute(ThreadPools& pools, const T* x, float factor, float* sums) {
    const int64_t inner = reduction_.inner, parts = parts_.Number();
    tasks_.ForEach(pools, [&](int task, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % parts * parts_.size;
        const int64_t rows = std::min(parts_.size, reduction_.middle - first);
        SumColumns(x + (i / parts * reduction_.middle + first) * inner, rows * inner, inner,
                   &wide_[static_cast<size_t>(task)], Array(partial_.col(i).data(), inner));
      }
    });
    for (int64_t outer = 0; outer < reduction_.outer; ++outer) {
      Array sum(sums + outer * inner, inner);
      sum = partial_.col(outer * parts);
      for (int64_t part = 1; part < parts; ++part) sum += partial_.col(outer * parts + part);
      sum *= factor;
    }
  }

 private:
  MiddleReduction reduction_;
  Blocks parts_;                      // Parts of the middle rows.
  Blocks tasks_;                      // Tasks of all parts of all outer rows.
  std::vector<Eigen::ArrayXf> wide_;  // By task.
  Eigen::ArrayXXf partial_;           // A column for each part.
};

}  // namespace

std::unique_ptr<Kernel> MakeBiasAdd(const KernelSpec& spec) {
  const Matrix matrix = AsMatrix(spec.inputs[0].shape);
  const int64_t channels = matrix.channels, elements = matrix.rows * channels;
  const int64_t width = WideRow(matrix.rows, channels);
  const Blocks blocks = Blocks::Of((elements + width - 1) / width, width);
  return ForImages(spec.inputs[0], [&](auto element) {
    using T = decltype(element);
    return KernelFrom([=, wide = Eigen::ArrayXf(width)](KernelContext& context) mutable {
      for (int64_t c = 0; c < width; c += channels)
        wide.segment(c, channels) = ConstArray(In(context, 1), channels);
      const T* x = In<T>(context, 0);
      T* y = Out<T>(context, 0);
      blocks.ForEach(context.pools, [&](int, int64_t begin, int64_t end) {
        for (int64_t at = begin * width; at < std::min(end * width, elements); at += width) {
          const int64_t length = std::min(width, elements - at);
          Store(Load(x + at, length) + wide.head(length), y + at);
        }
      });
    });
  });
}

std::unique_ptr<Kernel> MakeBiasAddGrad(const KernelSpec& spec) {
  const Matrix matrix = AsMatrix(spec.inputs[0].shape);
  return ForImages(spec.inputs[0], [&](auto element) {
    using T = decltype(element);
    return KernelFrom(
        [sum = MiddleSum({1, matrix.rows, matrix.channels})](KernelContext& context) mutable {
          sum.Compute(context.pools, In<T>(context, 0), 1.0f, Out(context, 0));
        });
  });
}

std::unique_ptr<Kernel> MakeMean(const KernelSpec& spec) {
  const auto middle = AsMiddle(ReadMean(spec.node, spec.inputs[0].shape));
  if (!middle) return onednn::MakeMean(spec);
  return KernelFrom([factor = 1.0f / static_cast<float>(middle->middle),
                     sum = MiddleSum(*middle)](KernelContext& context) mutable {
    sum.Compute(context.pools, In(context, 0), factor, Out(context, 0));
  });
}

}  // namespace cosched::eigen
