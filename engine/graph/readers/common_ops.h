#pragma once
// What the ops of both formats come down to: each function adds nodes of ours for the node that the
// OpReader stands for, or works it out where all of its inputs are constants. The op functions of a
// format (onnx_*.cc, graphdef_*.cc) read that format's attributes and call these.

#include <string>
#include <vector>

#include "engine/graph/readers/op_reader.h"

namespace cosched {

// Height and width of each; pads are {top, bottom, left, right}.
struct WindowSizes {
  std::vector<int64_t> window;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads;

  // What a window covers along a dimension, 0 or 1.
  int64_t Extent(int dimension) const;
};

// Padding of TF's SAME, or ONNX's SAME_UPPER and SAME_LOWER: as many windows as strides.
std::vector<int64_t> SamePads(const OpReader& op, const WindowSizes& sizes, const Shape& nhwc,
                              bool more_at_end);

void ReshapeInput(OpReader& op, std::vector<int64_t> dims);          // One size may be -1.
void ReshapeResult(OpReader& op, const std::vector<int64_t>& dims);  // The result given before.
void TransposeInput(OpReader& op, const Order& order);
void InsertAxes(OpReader& op, const std::vector<int64_t>& axes);  // In the result.
void RemoveAxes(OpReader& op, const std::vector<int64_t>& axes);
void PassOn(OpReader& op, int input = 0);
// The sizes of input 0, of the dimensions from `first` to before `last`. REQUIRES: they are.
void GiveShape(OpReader& op, int64_t first, int64_t last);
void ConcatInputs(OpReader& op, int count, int64_t axis);
// The first index, the step and how many, of each dimension.
void SliceInput(OpReader& op, const std::vector<int64_t>& begins, const std::vector<int64_t>& steps,
                const std::vector<int64_t>& counts);
void GatherInput(OpReader& op, int64_t axis);
// {before, after} of each dimension.
void PadInput(OpReader& op, const std::vector<int64_t>& pads, float value);

void Elementwise(OpReader& op, const std::string& name, Attributes attributes = {});
// Our AddV2, Sub, Mul, RealDiv of inputs 0 and 1; `folded` is fold.h's name.
void BinaryElementwise(OpReader& op, const std::string& name, const std::string& folded);
void Clip(OpReader& op, float min, float max);
void MeanOver(OpReader& op, const std::vector<int64_t>& axes, bool keep_dims);
// Input 0 over its dimensions from `axis` on; inputs 1 and 2: scale, and offset where there is one.
void LayerNormalize(OpReader& op, int64_t axis, float epsilon);
void SoftmaxOver(OpReader& op, int64_t axis);
void LocalResponse(OpReader& op, int64_t depth_radius, float bias, float alpha, float beta);
// Input 0 as [N,…,C] or the file's image; scale, offset, mean and variance are inputs 1 to 4.
void BatchNormalize(OpReader& op, float epsilon, float decay, bool training);

// Input 0 convolved with the filter, which is ours: [R,S,C/groups,K].
View Convolved(OpReader& op, Output filter, WindowSizes sizes);
// The transposed convolution of input `image` to images of height and width `size`.
View ConvolvedBack(OpReader& op, int image, Output filter, const WindowSizes& sizes,
                   const std::vector<int64_t>& size);
View WithBias(OpReader& op, const View& view, int input);  // Over the file's channels.

// Whether some padding of our own, beyond the file's, makes the last window fit; it is never
// counted in a mean.
struct PoolEdges {
  int64_t bottom = 0;
  int64_t right = 0;
};
View MaxPooled(OpReader& op, const WindowSizes& sizes, PoolEdges edges);
View AveragePooled(OpReader& op, WindowSizes sizes, PoolEdges edges, bool count_padding);

// [M,K] x [K,N]; a constant b is a weight. More dimensions of a are taken for rows.
View Multiplied(OpReader& op, bool transpose_a, bool transpose_b);

}  // namespace cosched
