#include "engine/graph/readers/source_model.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "engine/base/error.h"

namespace cosched {
namespace {

using Producers = std::map<std::string, size_t>;

Producers ProducersOf(const SourceModel& model) {
  Producers producers;
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    for (const std::string& output : model.nodes[i].outputs) {
      if (output.empty()) continue;
      if (!producers.emplace(output, i).second || model.constants.contains(output)) {
        FailSource(model.file, model.nodes[i], "another node gives \"" + output + "\", too",
                   "a value has one producer");
      }
    }
  }
  for (const SourceInput& input : model.inputs) {
    const auto found = producers.find(input.name);
    if (found != producers.end()) {
      FailSource(model.file, model.nodes[found->second],
                 "\"" + input.name + "\" is an input of the model", "a value has one producer");
    }
  }
  return producers;
}

// Depth first with a stack of its own: a chain of nodes may be as long as the file.
class NodeSorter {
 public:
  explicit NodeSorter(const SourceModel& model)
      : model_(model), producers_(ProducersOf(model)), state_(model.nodes.size(), kNew) {
    for (const SourceInput& input : model.inputs) inputs_.emplace(input.name, true);
  }

  void Visit(const std::string& value) {
    if (const std::optional<size_t> first = NodeOf(value, nullptr)) Push(*first);
    while (!stack_.empty()) {
      auto& [node, next] = stack_.back();
      const std::vector<std::string>& inputs = model_.nodes[node].inputs;
      if (next == inputs.size()) {
        state_[node] = kDone;
        order_.push_back(node);
        stack_.pop_back();
        continue;
      }
      const std::string& input = inputs[next++];
      if (input.empty()) continue;
      const std::optional<size_t> producer = NodeOf(input, &model_.nodes[node]);
      if (!producer) continue;
      if (state_[*producer] == kOpen) {
        FailSource(model_.file, model_.nodes[node], "its input \"" + input + "\" depends on it",
                   "a graph without cycles");
      }
      Push(*producer);
    }
  }

  const std::vector<size_t>& order() const { return order_; }

 private:
  enum State : char { kNew, kOpen, kDone };

  void Push(size_t node) {
    if (state_[node] != kNew) return;
    state_[node] = kOpen;
    stack_.emplace_back(node, 0);
  }

  // Who produces it; none for a constant or an input of the model.
  std::optional<size_t> NodeOf(const std::string& value, const SourceNode* reader) const {
    if (inputs_.contains(value) || model_.constants.contains(value)) return std::nullopt;
    const auto found = producers_.find(value);
    if (found != producers_.end()) return found->second;
    const std::string problem = "nothing gives \"" + value + "\"";
    if (reader == nullptr) FailFile(model_.file, "output: " + problem);
    FailSource(model_.file, *reader, problem,
               "an output of another node, an input or a tensor of the model");
  }

  const SourceModel& model_;
  Producers producers_;
  std::map<std::string, bool> inputs_;
  std::vector<State> state_;
  std::vector<std::pair<size_t, size_t>> stack_;  // (node, its next input)
  std::vector<size_t> order_;
};

}  // namespace

void FailFile(const std::string& file, const std::string& problem, const std::string& allowed) {
  throw InputError({.file = file, .problem = problem, .allowed = allowed});
}

void FailSource(const std::string& file, const SourceNode& node, const std::string& problem,
                const std::string& allowed) {
  throw InputError(
      {.file = file,
       .key = "node \"" + node.name.substr(0, 256) + "\" (" + node.op.substr(0, 64) + ")",
       .problem = problem,
       .allowed = allowed});
}

void CheckRegularFile(const std::string& file) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) FailFile(file, "does not exist");
  if (!std::filesystem::is_regular_file(status)) FailFile(file, "is not a regular file");
  if (!std::ifstream(file)) FailFile(file, "can't be read");
}

void SortNodes(SourceModel* model) {
  NodeSorter sorter(*model);
  for (const std::string& output : model->outputs) sorter.Visit(output);
  std::vector<SourceNode> sorted;
  sorted.reserve(sorter.order().size());
  for (const size_t node : sorter.order()) sorted.push_back(std::move(model->nodes[node]));
  model->nodes = std::move(sorted);
}

}  // namespace cosched
