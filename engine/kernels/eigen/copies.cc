// ConcatV2, Slice and Pad: rows of memory, copied in parallel.

#include <cstring>

#include "engine/kernels/eigen/views.h"
#include "engine/kernels/factories.h"
#include "engine/kernels/loop_kernel.h"

namespace cosched::eigen {
namespace {

using Index = std::vector<int64_t>;

constexpr int64_t kLongRow = 4096;  // Elements: worth an item of its own.

int64_t Product(const std::vector<int64_t>& sizes, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t d = begin; d < end; ++d) product *= sizes[d];
  return product;
}

template <typename T>
void Copy(const T* from, int64_t elements, T* to) {
  std::memcpy(to, from, static_cast<size_t>(elements) * sizeof(T));
}

// A part of a whole, row by row: dimensions from `split` on make a row of the part; the last
// dimensions lie side by side in both where the part has all of them.
class RowsOfPart {
 public:
  RowsOfPart(const Shape& whole, const Shape& part, const Index& begin)
      : whole_(whole.Sizes()), part_(part.Sizes()), begin_(begin), split_(part_.size()) {
    while (split_ > 0 && whole_[split_ - 1] == part_[split_ - 1]) --split_;
    // Rows of one more dimension, unless they are long enough.
    if (split_ > 0 && Product(part_, split_, part_.size()) < kLongRow) --split_;
    whole_row_ = Product(whole_, split_, whole_.size());
    part_row_ = Product(part_, split_, part_.size());
    before_ =
        split_ == part_.size() ? 0 : begin_[split_] * Product(whole_, split_ + 1, whole_.size());
  }

  int64_t PartRow() const { return part_row_; }
  int64_t WholeRow() const { return whole_row_; }
  int64_t PartRows() const { return Product(part_, 0, split_); }
  int64_t WholeRows() const { return Product(whole_, 0, split_); }
  int64_t Before() const { return before_; }  // Elements of a whole row before the part's.

  // The whole's row that holds a row of the part.
  int64_t RowInWhole(int64_t row) const {
    int64_t result = 0, step = 1;
    for (size_t d = split_; d-- > 0;) {
      result += (row % part_[d] + begin_[d]) * step;
      row /= part_[d];
      step *= whole_[d];
    }
    return result;
  }
  // The part's row within a row of the whole, or -1 if it has none there.
  int64_t RowInPart(int64_t row) const {
    int64_t result = 0, step = 1;
    for (size_t d = split_; d-- > 0;) {
      const int64_t at = row % whole_[d] - begin_[d];
      if (at < 0 || at >= part_[d]) return -1;
      result += at * step;
      row /= whole_[d];
      step *= part_[d];
    }
    return result;
  }

 private:
  Index whole_, part_, begin_;
  size_t split_;
  int64_t whole_row_ = 0, part_row_ = 0, before_ = 0;
};

// Items are rows of the result: one run of elements from each input. Long rows are divided, each
// run by itself.
template <typename T>
std::unique_ptr<Kernel> ConcatOf(const KernelSpec& spec) {
  const auto axis = static_cast<size_t>(GetAttribute<int64_t>(spec.node, "axis"));
  const Index& sizes = spec.node.outputs[0].shape.Sizes();
  const int64_t row = Product(sizes, axis, sizes.size());
  const int64_t parts = (row + kLongRow - 1) / kLongRow;
  Index runs;
  for (const OutputInfo& input : spec.inputs)
    runs.push_back(Product(input.shape.Sizes(), axis, sizes.size()));
  const double bytes = 2.0 * sizeof(T) * static_cast<double>(row) / static_cast<double>(parts);
  return LoopOver(spec, Product(sizes, 0, axis) * parts, bytes,
                  [=](KernelContext& context, int64_t, int64_t begin, int64_t end) {
                    for (int64_t item = begin; item < end; ++item) {
                      T* to = Out<T>(context, 0) + item / parts * row;
                      for (size_t i = 0; i < runs.size(); ++i) {
                        const Division division{runs[i], parts};
                        const int64_t first = division.Begin(item % parts);
                        Copy(In<T>(context, i) + item / parts * runs[i] + first,
                             division.Size(item % parts), to + first);
                        to += runs[i];
                      }
                    }
                  });
}

template <typename T>
std::unique_ptr<Kernel> SliceOf(const KernelSpec& spec) {
  const RowsOfPart rows(spec.inputs[0].shape, spec.node.outputs[0].shape,
                        GetAttribute<Index>(spec.node, "begin"));
  const double bytes = 2.0 * sizeof(T) * static_cast<double>(rows.PartRow());
  return LoopOver(
      spec, rows.PartRows(), bytes,
      [rows](KernelContext& context, int64_t, int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
          Copy(In<T>(context, 0) + rows.RowInWhole(row) * rows.WholeRow() + rows.Before(),
               rows.PartRow(), Out<T>(context, 0) + row * rows.PartRow());
      });
}

template <typename T>
std::unique_ptr<Kernel> PadOf(const KernelSpec& spec) {
  const Index& paddings = GetAttribute<Index>(spec.node, "paddings");
  Index before;
  for (size_t i = 0; i < paddings.size(); i += 2) before.push_back(paddings[i]);
  const RowsOfPart rows(spec.node.outputs[0].shape, spec.inputs[0].shape, before);
  const double bytes = 2.0 * sizeof(T) * static_cast<double>(rows.WholeRow());
  return LoopOver(spec, rows.WholeRows(), bytes,
                  [rows, value = T(GetAttribute<float>(spec.node, "value"))](
                      KernelContext& context, int64_t, int64_t begin, int64_t end) {
                    for (int64_t row = begin; row < end; ++row) {
                      const int64_t in_part = rows.RowInPart(row);
                      const int64_t inside = in_part < 0 ? 0 : rows.PartRow();
                      const int64_t left = in_part < 0 ? rows.WholeRow() : rows.Before();
                      T* to = Out<T>(context, 0) + row * rows.WholeRow();
                      std::fill_n(to, left, value);
                      if (inside > 0)
                        Copy(In<T>(context, 0) + in_part * rows.PartRow(), inside, to + left);
                      std::fill_n(to + left + inside, rows.WholeRow() - left - inside, value);
                    }
                  });
}

}  // namespace

std::unique_ptr<Kernel> MakeConcat(const KernelSpec& spec) {
  return ForImages(spec.inputs[0], [&](auto element) { return ConcatOf<decltype(element)>(spec); });
}
std::unique_ptr<Kernel> MakeSlice(const KernelSpec& spec) {
  return ForImages(spec.inputs[0], [&](auto element) { return SliceOf<decltype(element)>(spec); });
}
std::unique_ptr<Kernel> MakePad(const KernelSpec& spec) {
  return ForImages(spec.inputs[0], [&](auto element) { return PadOf<decltype(element)>(spec); });
}

}  // namespace cosched::eigen
