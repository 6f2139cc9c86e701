#pragma once
// What a model file may ask of the machine, since a few bytes of a file can ask for anything:
// nodes, operations, and memory for values. Limits are of one image, so that they do not depend on
// the batch that somebody asks for; a batch of the file's own counts whole. Used by the importer.

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/graph/readers/source_model.h"

namespace cosched {

// Nodes of the graph, weights among them.
inline constexpr int kMostNodes = 1 << 15;
// Inputs, and outputs.
inline constexpr size_t kMostInterfaces = 512;
// Bytes of an image: what all inputs take, and all outputs; values still to be read as one node
// follows the other; all values, which training keeps.
inline constexpr int64_t kMostInterfaceBytes = int64_t{256} << 20;
inline constexpr int64_t kMostLiveBytes = int64_t{1} << 30;
inline constexpr int64_t kMostTrainingBytes = int64_t{4} << 30;
// Multiplications and additions of an image's convolutions and products, more where these can't be
// fast; an element that is read or written counts as 50, which is what a core does while it moves
// one. VGG-16 has 3e10; this is about a minute of a core.
inline constexpr double kMostOperations = 4e12;

// Throws InputError if the file has too many inputs or outputs, or inputs too large.
void CheckInterface(const SourceModel& model);

// The limits of one build; not thread-safe.
class BuildLimits {
 public:
  // `batch`: images of the build; 1 where the file has a batch of its own.
  BuildLimits(const SourceModel& model, const Graph& graph, int64_t batch)
      : model_(model), graph_(graph), batch_(static_cast<double>(batch)), first_(graph.Size()) {}

  // The graph's nodes since the last call are what `node` has become. Throws InputError if these
  // are too many or too much work.
  void Count(const SourceNode& node);
  // After the last node. Throws InputError, naming the node where they are largest, if values that
  // are still to be read are too large; in training all of them are.
  void CheckMemory(const std::vector<Output>& outputs, bool training) const;

 private:
  const SourceNode& SourceOf(NodeId id) const;
  std::vector<NodeId> LastReaders(const std::vector<Output>& outputs, bool training) const;
  double BytesOfImage(const Node& node) const;

  const SourceModel& model_;
  const Graph& graph_;
  const double batch_;
  const NodeId first_;
  std::vector<std::pair<NodeId, const SourceNode*>> ends_;  // The id behind what a node has become.
  double operations_ = 0;
};

}  // namespace cosched
