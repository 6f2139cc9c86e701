// Builds our graph from a SourceModel: one op function a node, in their order, each complaint with
// the file, the node and its op.

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/graph/ops.h"
#include "engine/graph/readers/model_file.h"
#include "engine/graph/readers/op_reader.h"

namespace cosched {
namespace {

// A scope for the node's own names: without what the session or a path would take for its own.
std::string ScopeOf(const SourceNode& node) {
  std::string name = node.name.substr(0, 128);
  std::replace(name.begin(), name.end(), ':', '_');
  name.erase(0, name.find_first_not_of('/') == std::string::npos ? name.size()
                                                                 : name.find_first_not_of('/'));
  return name.empty() ? node.op.substr(0, 64) : name;
}

// Elements of what these nodes work out; sources and views take no memory in a run.
int64_t Elements(const Graph& graph, NodeId begin) {
  int64_t elements = 0;
  for (NodeId id = begin; id < graph.Size(); ++id) {
    const Node& node = graph.At(id);
    if (IsSource(node.op) || node.op == "Reshape") continue;
    for (const OutputInfo& output : node.outputs) elements += output.shape.Elements();
  }
  return elements;
}

// One build of a network.
class ModelImport {
 public:
  ModelImport(const SourceModel& model, WeightStore* weights, GraphBuilder* builder,
              const BuildSettings& settings)
      : model_(model),
        builder_(*builder),
        views_(builder, model.channels_first),
        state_{.model = model, .weights = *weights, .views = views_, .settings = settings} {
    weights->BeginBuild();
    for (const auto& [name, constant] : model.constants) {
      state_.values[name] = {.constant = constant, .view = {}};
    }
    for (const SourceInput& input : model.inputs) {
      if (!input.sizes.empty() && input.sizes[0] == -1) batch_ = settings.batch;
    }
  }

  void AddInput(const SourceInput& input, Output output) {
    const bool image = input.sizes.size() == 4 && !input.channels_last;
    state_.values[input.name] = {.constant = nullptr,
                                 .view = image ? views_.Image(output) : views_.Plain(output)};
  }

  void AddNodes() {
    const OpTable& ops = model_.opset > 0 ? OnnxOps() : GraphDefOps();
    for (const SourceNode& node : model_.nodes) {
      const auto function = ops.find(node.op);
      if (function == ops.end()) FailSource(model_.file, node, "unknown op", NamesOf(ops));
      const NodeId begin = builder_.graph().Size();
      views_.SetScope(ScopeOf(node));
      OpReader reader(&state_, node);
      try {
        function->second(reader);
      } catch (const InputError& error) {
        if (error.details().file == model_.file) throw;
        FailSource(model_.file, node, error.details().problem, error.details().allowed);
      }
      CountActivations(node, begin);
    }
  }

  ModelFile::Built Give(const std::string& name) {
    const auto found = state_.values.find(name);
    if (found == state_.values.end() || found->second.constant != nullptr) {
      FailFile(model_.file, "output \"" + name.substr(0, 256) + "\" is not worked out from images",
               "first outputs of ops that depend on an input");
    }
    const View view = views_.WithPadding(found->second.view);
    const bool image = model_.channels_first && view.shape.Rank() == 4;
    views_.SetScope("output");
    return {.interface = {.name = name, .shape = view.shape, .channels_first = image},
            .output = image ? views_.Nhwc(view) : views_.Plainly(view)};
  }

  // What the Softmax behind this output takes; the output itself if there is none.
  std::string LogitsOf(const std::string& output) const {
    std::string name = output;
    for (auto node = model_.nodes.rbegin(); node != model_.nodes.rend(); ++node) {
      if (node->outputs.empty() || node->outputs[0] != name || node->inputs.empty()) continue;
      name = node->inputs[0];
      if (node->op == "Softmax") return name;
      if (node->op != "Identity") break;
    }
    return output;
  }

 private:
  static std::string NamesOf(const OpTable& ops) {
    std::string names;
    for (const auto& op : ops) names += (names.empty() ? "" : ", ") + op.first;
    return names;
  }

  void CountActivations(const SourceNode& node, NodeId begin) {
    activations_ +=
        4.0 * static_cast<double>(Elements(builder_.graph(), begin)) / static_cast<double>(batch_);
    if (activations_ <= static_cast<double>(kMostActivationBytes)) return;
    FailSource(model_.file, node,
               "with it the results of all nodes need " +
                   std::to_string(std::llround(activations_)) + " bytes an image",
               std::to_string(kMostActivationBytes) + " bytes");
  }

  const SourceModel& model_;
  GraphBuilder& builder_;
  ViewBuilder views_;
  ImportState state_;
  int64_t batch_ = 1;  // Of what the file leaves open; a batch of its own is the file's doing.
  double activations_ = 0;
};

}  // namespace

Shape ModelFile::Interface::Ours() const {
  return channels_first ? Shape{shape[0], shape[2], shape[3], shape[1]} : shape;
}

ModelFile::ModelFile(SourceModel model)
    : model_(std::make_unique<const SourceModel>(std::move(model))),
      weights_(std::make_unique<WeightStore>(*model_)) {}

ModelFile::~ModelFile() = default;

const std::string& ModelFile::Path() const { return model_->file; }
const std::string& ModelFile::Format() const { return model_->format; }

int64_t ModelFile::OwnBatch() const {
  for (const SourceInput& input : model_->inputs) {
    if (!input.sizes.empty()) return std::max<int64_t>(input.sizes[0], 0);
  }
  return 0;
}

std::vector<ModelFile::Interface> ModelFile::Inputs(int64_t batch) const {
  CHECK(batch > 0) << "batch " << batch;
  std::vector<Interface> result;
  for (const SourceInput& input : model_->inputs) {
    std::vector<int64_t> sizes = input.sizes;
    if (!sizes.empty() && sizes[0] == -1) sizes[0] = batch;
    if (!sizes.empty() && sizes[0] != batch) {
      FailFile(model_->file,
               "input \"" + input.name.substr(0, 256) + "\" is of " + DimsText(input.sizes) +
                   ", not of batch " + std::to_string(batch),
               "batch " + std::to_string(sizes[0]) +
                   ", or a file whose first dimension has a name in place of a number");
    }
    const bool image = model_->channels_first && sizes.size() == 4 && !input.channels_last;
    result.push_back({.name = input.name, .shape = Shape(sizes), .channels_first = image});
  }
  return result;
}

std::vector<ModelFile::Built> ModelFile::Build(GraphBuilder* builder,
                                               const std::vector<Output>& inputs,
                                               const BuildSettings& settings) const {
  const std::lock_guard lock(mutex_);
  const std::vector<Interface> interfaces = Inputs(settings.batch);
  CHECK(inputs.size() == interfaces.size())
      << inputs.size() << " inputs for a model with " << interfaces.size();
  ModelImport import(*model_, weights_.get(), builder, settings);
  for (size_t i = 0; i < inputs.size(); ++i) {
    CHECK(builder->graph().Info(inputs[i]).shape == interfaces[i].Ours())
        << "another shape for input " << interfaces[i].name;
    import.AddInput(model_->inputs[i], inputs[i]);
  }
  import.AddNodes();
  std::vector<Built> built;
  for (const std::string& output : model_->outputs) {
    built.push_back(import.Give(settings.logits ? import.LogitsOf(output) : output));
  }
  return built;
}

}  // namespace cosched
