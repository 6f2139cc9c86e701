#pragma once
// One node of a model file while it is turned into nodes of ours: its attributes and inputs,
// checked, and where its results go. Each op of a format is one function that takes an OpReader
// (onnx_*.cc, graphdef_*.cc). Every complaint names the file, the node and its op.

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/readers/model_file.h"
#include "engine/graph/readers/view.h"
#include "engine/graph/readers/weight_store.h"

namespace cosched {

// What a name of the file stands for: a constant, or a value that the graph works out.
struct SourceValue {
  ConstantPtr constant;  // Null: the graph works it out.
  View view;
  const std::vector<int64_t>& Dims() const {
    return constant ? constant->dims : view.shape.Sizes();
  }
};

// Names of variables: after the weight, but without what a fetch reads in its own way. Two weights
// whose names differ only in that, or one in two layouts, are two variables.
class VariableNames {
 public:
  const std::string& Of(const std::string& weight, const std::string& layout);

 private:
  std::map<std::pair<std::string, std::string>, std::string> names_;  // By weight and layout.
  std::set<std::string> taken_;
  std::map<std::string, int> tried_;  // By name without number: the last number.
};

// What all nodes of one build share.
struct ImportState {
  const SourceModel& model;
  WeightStore& weights;
  ViewBuilder& views;
  const BuildSettings& settings;
  std::map<std::string, SourceValue> values = {};
  VariableNames variables = {};
};

// Sizes of windows, strides and paddings of a file are at most this, so that sums don't overflow
// and kernels' 32-bit sizes hold them.
inline constexpr int64_t kMostWindow = 65535;
// A list with an entry for each dimension, or a few of them, has at most so many.
inline constexpr size_t kMostSizes = 64;

class OpReader {
 public:
  OpReader(ImportState* state, const SourceNode& node) : state_(*state), node_(node) {}

  const SourceNode& node() const { return node_; }
  ViewBuilder& views() { return state_.views; }
  int opset() const { return state_.model.opset; }
  bool training() const { return state_.settings.training; }
  [[noreturn]] void Fail(const std::string& problem, const std::string& allowed = "") const;

  // Attributes; another kind than asked for is an error, as is a missing one without a default.
  bool HasAttribute(const std::string& name) const { return node_.attributes.contains(name); }
  int64_t Int(const std::string& name, std::optional<int64_t> otherwise = {}) const;
  float Float(const std::string& name, std::optional<float> otherwise = {}) const;
  std::string Text(const std::string& name, std::optional<std::string> otherwise = {}) const;
  std::vector<int64_t> Ints(const std::string& name,
                            std::optional<std::vector<int64_t>> otherwise = {}) const;
  // So many of them, each within the bounds.
  std::vector<int64_t> Sizes(const std::string& name, size_t count,
                             std::optional<std::vector<int64_t>> otherwise, int64_t least = 1,
                             int64_t most = kMostWindow) const;

  // Inputs, from 0 on.
  int InputCount() const { return static_cast<int>(node_.inputs.size()); }
  bool Has(int input) const;
  const SourceValue& Value(int input) const;
  const std::vector<int64_t>& Dims(int input) const { return Value(input).Dims(); }
  bool IsConstant(int input) const { return Has(input) && Value(input).constant != nullptr; }
  bool AllConstant() const;
  const Constant& ConstantAt(int input, std::string_view what) const;
  std::vector<int64_t> IntsAt(int input, std::string_view what) const;  // A tensor of rank 0 or 1.
  float FloatAt(int input, std::string_view what) const;                // A tensor of one element.
  // As a value of the graph: constants become Const nodes.
  View In(int input);
  View PaddedIn(int input);  // The same, with zeros around it that the reader takes on itself.
  View Image(int input);     // A view of rank 4.
  View PaddedImage(int input);

  // An input as a variable in this layout: trainable unless said otherwise. What is no tensor of
  // the file but worked out becomes a Const, or the nodes that work it out.
  Output Weight(int input, const WeightLayout& layout, bool trainable = true);
  // A vector of so many elements, in whatever rank.
  Output Vector(int input, int64_t elements, bool trainable = true);
  Output Literal(const Tensor& value);  // A Const; charged.

  int64_t Axis(int64_t axis, int rank) const;                            // From 0 on.
  std::vector<int64_t> Axes(std::vector<int64_t> axes, int rank) const;  // The same, sorted, once.

  void Give(SourceValue value, size_t output = 0);
  void Give(View view) { Give(SourceValue{.constant = nullptr, .view = std::move(view)}); }
  // Checks its size and that no unwanted integers are made.
  void Give(Constant constant);
  const SourceValue& Given() const { return state_.values.at(node_.outputs[0]); }
  void Charge(int64_t bytes) { state_.weights.Charge(state_.model, node_, bytes); }

 private:
  const SourceAttribute* Find(const std::string& name) const;
  template <typename T>
  T Get(const std::string& name, std::optional<T> otherwise, const char* kind) const;

  ImportState& state_;
  const SourceNode& node_;
};

// The ops of a format, by name.
using OpTable = std::map<std::string, void (*)(OpReader&), std::less<>>;
const OpTable& OnnxOps();
const OpTable& GraphDefOps();

}  // namespace cosched
