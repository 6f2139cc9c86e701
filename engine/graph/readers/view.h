#pragma once
// A tensor of a model file and how our graph holds it. ONNX images are [N,C,H,W], ours NHWC: rather
// than transposing at each op, a value keeps the order in which it is held, and a Transpose of the
// file only changes that note. Nodes are added where an op needs an order that differs. Used by the
// readers only. Not thread-safe.

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "engine/graph/graph_builder.h"

namespace cosched {

using Order = std::vector<int64_t>;
using Attributes = std::map<std::string, Attribute>;

struct View {
  Output held;
  Shape held_shape;
  Order order;  // Dimension i of the permuted shape is dimension order[i] of what is held.
  Shape shape;  // The file's: the permuted shape, or a reshape of it.
  // {top, bottom, left, right}: zeros around the image that nobody has added yet, because a
  // convolution or pooling may do it by itself; `shape` counts them. Empty: none.
  std::vector<int64_t> padding = {};

  Shape Permuted() const;
  bool IsPermutation() const { return Permuted() == shape; }
};

Order Identity(int rank);
Order Inverse(const Order& order);
// How an image of the file is held: {0,3,1,2} where it is [N,C,H,W].
Order ImageOrder(bool channels_first);

class ViewBuilder {
 public:
  ViewBuilder(GraphBuilder* builder, bool channels_first)
      : builder_(builder), channels_first_(channels_first) {}

  GraphBuilder& builder() { return *builder_; }
  bool channels_first() const { return channels_first_; }
  // Nodes added from now on are named "<name>/<op>".
  void SetScope(const std::string& name);
  const std::string& scope() const { return scope_; }

  Output Add(const std::string& op, std::vector<Output> inputs, Attributes attributes = {});
  const Shape& ShapeOf(Output output) const { return builder_->graph().Info(output).shape; }
  Output Const(Tensor value);

  View Plain(Output held) const;
  View Image(Output nhwc) const;                   // In the file's own order of dimensions.
  View Like(const View& view, Output held) const;  // After an op that keeps shapes.

  // Each adds Transpose and Reshape nodes only where the elements are not in that order yet.
  // Dimension i of the file's shape becomes dimension order[i] of the result.
  Output Held(const View& view, const Order& order);
  Output Plainly(const View& view) { return Held(view, Identity(view.shape.Rank())); }
  Output Nhwc(const View& view) { return Held(view, ImageOrder(channels_first_)); }

  View Reshape(const View& view, const Shape& shape);  // REQUIRES: as many elements.
  View Transpose(const View& view, const Order& order);
  View WithPadding(const View& view);  // Adds what is still to be padded.

 private:
  Output ReshapeTo(Output x, const Shape& shape);
  Output HeldPermutation(const View& view, const Order& order);

  GraphBuilder* builder_;
  bool channels_first_;
  std::string scope_;
  // Results of Held, so that two readers of one value share its transposition.
  std::map<std::tuple<Output, Order, std::vector<int64_t>, Order>, Output> held_;
};

}  // namespace cosched
