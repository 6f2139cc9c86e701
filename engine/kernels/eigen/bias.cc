// BiasAdd and BiasAddGrad. Channels are often few (6 in LeNet's first layer), too short a run for
// vector instructions, so both work on wide rows: as many rows at once as fill some vectors,
// against a bias repeated as often.

#include "engine/kernels/blocks.h"
#include "engine/kernels/eigen/views.h"
#include "engine/kernels/factories.h"
#include "engine/kernels/parameters.h"

namespace cosched::eigen {
namespace {

constexpr int64_t kWide = 256;     // Floats of a wide row, at least.
constexpr int64_t kPartials = 64;  // Most partial sums: they are added one after the other.

int64_t Repeats(const Matrix& matrix) {
  return std::min((kWide + matrix.channels - 1) / matrix.channels,
                  std::max<int64_t>(matrix.rows, 1));
}

// Column sums of elements [begin, end) of a matrix of `channels` columns into wide[repeats *
// channels], then sum.
void SumColumns(const float* from, int64_t elements, int64_t channels, Eigen::ArrayXf* wide,
                float* sum) {
  wide->setZero();
  int64_t at = 0;
  for (; at + wide->size() <= elements; at += wide->size())
    *wide += ConstArray(from + at, wide->size());
  wide->head(elements - at) += ConstArray(from + at, elements - at);
  Array total(sum, channels);
  total.setZero();
  for (int64_t c = 0; c < wide->size(); c += channels) total += wide->segment(c, channels);
}

}  // namespace

std::unique_ptr<Kernel> MakeBiasAdd(const KernelSpec& spec) {
  const Matrix matrix = AsMatrix(spec.inputs[0].shape);
  const int64_t repeats = Repeats(matrix);
  const Blocks blocks =
      Blocks::Of((matrix.rows + repeats - 1) / repeats, repeats * matrix.channels);
  return KernelFrom([matrix, blocks, wide = Eigen::ArrayXf(repeats * matrix.channels)](
                        KernelContext& context) mutable {
    for (int64_t c = 0; c < wide.size(); c += matrix.channels)
      wide.segment(c, matrix.channels) = ConstArray(In(context, 1), matrix.channels);
    const float* x = In(context, 0);
    float* y = Out(context, 0);
    const int64_t elements = matrix.rows * matrix.channels;
    blocks.ForEach(context.pools, [&](int, int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t at = row * wide.size(), width = std::min<int64_t>(wide.size(), elements - at);
        Array(y + at, width) = ConstArray(x + at, width) + wide.head(width);
      }
    });
  });
}

std::unique_ptr<Kernel> MakeBiasAddGrad(const KernelSpec& spec) {
  const Matrix matrix = AsMatrix(spec.inputs[0].shape);
  const Blocks blocks = Blocks::Of(matrix.rows, matrix.channels, kPartials);
  const int64_t width = Repeats({blocks.size, matrix.channels}) * matrix.channels;
  return KernelFrom(
      [matrix, blocks, partials = Eigen::ArrayXXf(matrix.channels, blocks.Number()),
       wide = std::vector<Eigen::ArrayXf>(static_cast<size_t>(blocks.Number()),
                                          Eigen::ArrayXf(width))](KernelContext& context) mutable {
        const float* dy = In(context, 0);
        blocks.ForEach(context.pools, [&](int block, int64_t begin, int64_t end) {
          SumColumns(dy + begin * matrix.channels, (end - begin) * matrix.channels, matrix.channels,
                     &wide[static_cast<size_t>(block)], partials.col(block).data());
        });
        Array sum(Out(context, 0), matrix.channels);
        sum = partials.col(0);
        for (int block = 1; block < blocks.Number(); ++block) sum += partials.col(block);
      });
}

}  // namespace cosched::eigen
