#pragma once
// Convenience over Graph::Add for models: one method an op, short names scoped by a prefix, and the
// gradient pass. Called by workloads/models. Not thread-safe.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace cosched {

enum class Padding { kSame, kValid, kExplicit };

// The size of a window, or of its steps; one number stands for both.
struct HeightWidth {
  int64_t height, width;
  HeightWidth(int64_t both) : height(both), width(both) {}
  HeightWidth(int64_t h, int64_t w) : height(h), width(w) {}
};

struct ConvolutionOptions {
  HeightWidth stride = 1;
  Padding padding = Padding::kSame;
  std::vector<int64_t> explicit_paddings = {};  // With kExplicit: top, bottom, left, right.
  HeightWidth dilations = 1;
};

struct PoolingOptions {
  HeightWidth window;
  HeightWidth stride;
  Padding padding = Padding::kValid;
  std::vector<int64_t> explicit_paddings = {};  // With kExplicit: top, bottom, left, right.
  bool count_padding = false;                   // Used by AvgPool only.
};

class GraphBuilder {
 public:
  explicit GraphBuilder(Graph* graph) : graph_(graph) {}
  Graph& graph() { return *graph_; }

  // Names added while the scope is alive start with "prefix/".
  class Scope {
   public:
    Scope(GraphBuilder* builder, const std::string& name);
    ~Scope();

   private:
    GraphBuilder* builder_;
    size_t length_;
  };

  // Any op, named after it, and a number from the second of the scope on.
  NodeId AddNode(const std::string& op, std::vector<Output> inputs,
                 std::map<std::string, Attribute> attributes = {});
  Output Placeholder(const std::string& name, const Shape& shape, DataType type = DataType::kFloat);
  Output Const(const std::string& name, Tensor value);
  // The variable of that name if the graph has it (a network built twice, for two batch sizes,
  // shares its weights), or a new one. Throws InputError if it is there with another shape.
  Output Variable(const std::string& name, Tensor initial);
  // The same, but the value is made only for a new variable.
  Output Variable(const std::string& name, const Shape& shape,
                  const std::function<Tensor()>& initial);
  // Variables added from now on start with these values, by name, where the shape is theirs. Kept
  // by reference.
  void UseValues(const std::map<std::string, Tensor>* values) { values_ = values; }
  Output Reshape(Output x, const Shape& shape);
  Output ConcatV2(const std::vector<Output>& parts, int64_t axis);
  Output Slice(Output x, const std::vector<int64_t>& begin, const std::vector<int64_t>& size);
  // Before and after each dimension.
  Output Pad(Output x, const std::vector<int64_t>& paddings, float value = 0);
  Output Transpose(Output x, const std::vector<int64_t>& perm);
  Output Conv2D(Output image, Output filter, const ConvolutionOptions& options);
  Output Conv2D(Output image, Output filter, int stride, Padding padding);
  // What is also called a transposed convolution: from y to the image [N,H,W,C] of the
  // convolution that these options describe. The filter is that one's, [R,S,C/groups,K].
  Output Conv2DBackpropInput(Output filter, Output y, const Shape& image,
                             const ConvolutionOptions& options);
  Output BiasAdd(Output x, Output bias);
  // Output 0 of FusedBatchNormV3; when training, also adds the AssignMovingAverage nodes, which
  // ApplyMomentum's node waits for.
  Output BatchNorm(Output x, Output scale, Output offset, Output running_mean,
                   Output running_variance, bool training, float epsilon = 1e-5f,
                   float decay = 0.9f);
  Output Relu(Output x);
  Output Relu6(Output x);
  Output Sigmoid(Output x);
  Output HardSwish(Output x);
  Output ClipByValue(Output x, float min, float max);
  Output MaxPool(Output x, const PoolingOptions& options);
  Output MaxPool(Output x, int window, int stride, Padding padding);
  Output AvgPool(Output x, const PoolingOptions& options);
  Output AvgPool(Output x, int window, int stride, Padding padding);
  Output GlobalAveragePool(Output x);  // Mean over height and width: [N,H,W,C] -> [N,C].
  Output MeanAll(Output x);            // Mean over all elements: a scalar.
  Output Mean(Output x, const std::vector<int64_t>& axes, bool keep_dims);
  Output MatMul(Output a, Output b);
  // Shapes are broadcast as numpy's.
  Output AddV2(Output a, Output b);
  Output Sub(Output a, Output b);
  Output Mul(Output a, Output b);
  Output RealDiv(Output a, Output b);
  Output Softmax(Output logits);
  // {loss [N], backprop [N,C]} as outputs 0 and 1 of the returned node.
  NodeId SparseSoftmaxCrossEntropyWithLogits(Output logits, Output labels);

  // Adds the gradient graph of the scalar `loss` and returns d loss / d x for each x, in order (an
  // empty Output with node -1 where loss does not depend on x). Throws InputError naming the node
  // if an op on the way has no gradient.
  std::vector<Output> Gradients(Output loss, const std::vector<Output>& xs);

  // Momentum SGD on every variable given; returns one NoOp that depends on all updates (those of
  // BatchNorm included): fetch it to train a step. Accumulators are variables named
  // "<variable>/momentum".
  NodeId ApplyMomentum(const std::vector<Output>& variables, const std::vector<Output>& gradients,
                       float learning_rate, float momentum, float weight_decay,
                       const std::string& name);

  // Variables added through Variable(), in order; running statistics are not trainable and not
  // among them.
  const std::vector<Output>& TrainableVariables() const { return trainable_; }
  Output UntrainableVariable(const std::string& name, Tensor initial);

 private:
  std::string Scoped(const std::string& name) const { return prefix_ + name; }
  const Tensor* GivenValue(const std::string& name, const Shape& shape) const;
  Output FindOrAdd(const std::string& name, const Shape& shape,
                   const std::function<Tensor()>& initial);

  Graph* graph_;
  std::string prefix_;
  std::vector<NodeId> updates_;
  std::vector<Output> trainable_;
  const std::map<std::string, Tensor>* values_ = nullptr;
};

}  // namespace cosched
