// Softmax and SparseSoftmaxCrossEntropyWithLogits, row by row.

#include <cmath>

#include "engine/base/check.h"
#include "engine/kernels/blocks.h"
#include "engine/kernels/eigen/views.h"
#include "engine/kernels/factories.h"
#include "engine/kernels/parameters.h"

namespace cosched::eigen {
namespace {

constexpr int64_t kExpCost = 8;  // One exponential in plain element operations.

// Returns log(sum(exp(x))), with the maximum taken out first so that exp never overflows.
float SoftmaxRow(const ConstArray& x, Array y) {
  const float maximum = x.maxCoeff();
  y = (x - maximum).exp();
  const float sum = y.sum();
  y *= 1.0f / sum;
  return std::log(sum) + maximum;
}

}  // namespace

std::unique_ptr<Kernel> MakeSoftmax(const KernelSpec& spec) {
  const Matrix matrix = AsMatrix(spec.inputs[0].shape);
  const Blocks blocks = Blocks::Of(matrix.rows, matrix.channels * kExpCost);
  return KernelFrom([matrix, blocks](KernelContext& context) {
    blocks.ForEach(context.pools, [&](int, int64_t begin, int64_t end) {
      for (int64_t at = begin * matrix.channels; at < end * matrix.channels; at += matrix.channels)
        SoftmaxRow(ConstArray(In(context, 0) + at, matrix.channels),
                   Array(Out(context, 0) + at, matrix.channels));
    });
  });
}

std::unique_ptr<Kernel> MakeSparseSoftmaxCrossEntropy(const KernelSpec& spec) {
  const Matrix matrix = AsMatrix(spec.inputs[0].shape);
  const Blocks blocks = Blocks::Of(matrix.rows, matrix.channels * kExpCost);
  return KernelFrom([matrix, blocks](KernelContext& context) {
    const int32_t* labels = context.inputs[1]->Ints();
    blocks.ForEach(context.pools, [&](int, int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int32_t label = labels[row];
        CHECK(label >= 0 && label < matrix.channels) << "label " << label << " of row " << row;
        const float* logits = In(context, 0) + row * matrix.channels;
        float* backprop = Out(context, 1) + row * matrix.channels;
        const float log_sum =
            SoftmaxRow(ConstArray(logits, matrix.channels), Array(backprop, matrix.channels));
        Out(context, 0)[row] = log_sum - logits[label];
        backprop[label] -= 1.0f;
      }
    });
  });
}

}  // namespace cosched::eigen
