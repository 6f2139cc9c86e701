// Builds our graph from a SourceModel: one op function a node, in their order, each complaint with
// the file, the node and its op.

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/graph/readers/build_limits.h"
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

// One build of a network.
class ModelImport {
 public:
  ModelImport(const SourceModel& model, WeightStore* weights, GraphBuilder* builder,
              const BuildSettings& settings)
      : model_(model),
        builder_(*builder),
        views_(builder, model.channels_first),
        state_{.model = model, .weights = *weights, .views = views_, .settings = settings},
        limits_(model, builder->graph(), OpenBatch(model, settings)) {
    weights->BeginBuild();
    for (const auto& [name, constant] : model.constants) {
      state_.values[name] = {.constant = constant, .view = {}};
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
      views_.SetScope(ScopeOf(node));
      OpReader reader(&state_, node);
      try {
        function->second(reader);
      } catch (const InputError& error) {
        if (error.details().file == model_.file) throw;
        FailSource(model_.file, node, error.details().problem, error.details().allowed);
      }
      limits_.Count(node);
    }
  }

  ModelFile::Built Give(const std::string& name) {
    const auto found = state_.values.find(name);
    if (found == state_.values.end() || found->second.constant != nullptr) {
      FailFile(model_.file, "output \"" + name.substr(0, 256) + "\" is not worked out from images",
               "first outputs of ops that depend on an input");
    }
    try {
      views_.SetScope("output");
      const View view = views_.WithPadding(found->second.view);
      const bool image = model_.channels_first && view.shape.Rank() == 4;
      return {.interface = {.name = name, .shape = view.shape, .channels_first = image},
              .output = image ? views_.Nhwc(view) : views_.Plainly(view)};
    } catch (const InputError& error) {
      FailFile(model_.file, "output \"" + name.substr(0, 256) + "\": " + error.details().problem,
               error.details().allowed);
    }
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

  void CheckMemory(const std::vector<ModelFile::Built>& built) const {
    std::vector<Output> outputs;
    for (const ModelFile::Built& output : built) outputs.push_back(output.output);
    limits_.CheckMemory(outputs, state_.settings.training);
  }

 private:
  // The batch that was asked for where the file leaves it open; a batch of its own is its doing.
  static int64_t OpenBatch(const SourceModel& model, const BuildSettings& settings) {
    const bool open = std::any_of(
        model.inputs.begin(), model.inputs.end(),
        [](const SourceInput& input) { return !input.sizes.empty() && input.sizes[0] == -1; });
    return open ? settings.batch : 1;
  }

  static std::string NamesOf(const OpTable& ops) {
    std::string names;
    for (const auto& op : ops) names += (names.empty() ? "" : ", ") + op.first;
    return names;
  }

  const SourceModel& model_;
  GraphBuilder& builder_;
  ViewBuilder views_;
  ImportState state_;
  BuildLimits limits_;
};

}  // namespace

Shape ModelFile::Interface::Ours() const {
  return channels_first ? Shape{shape[0], shape[2], shape[3], shape[1]} : shape;
}

ModelFile::ModelFile(SourceModel model)
    : model_(std::make_unique<const SourceModel>(std::move(model))),
      weights_(std::make_unique<WeightStore>(*model_)) {
  CheckInterface(*model_);
}

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
  import.CheckMemory(built);
  return built;
}

}  // namespace cosched
