#pragma once
// A network read from a file of another framework: ONNX (opset 7 to 20; onnx.ai) or a frozen
// TensorFlow GraphDef. Reading checks the file; Build adds the network to a graph of ours, in NHWC.
// Called by workloads/model_from_file and `cosched model`. Build may be called several times, for
// several batch sizes of one graph or several graphs, on one thread at a time.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/graph_builder.h"

namespace cosched {

struct SourceModel;
class WeightStore;

struct BuildSettings {
  int64_t batch = 1;
  // Weights become trainable variables and batch normalisation uses the batch's statistics.
  bool training = false;
  // A Softmax that gives the model's output is left out.
  bool logits = false;
};

class ModelFile {
 public:
  struct Interface {
    std::string name;
    Shape shape;                  // As the file has it, with the batch.
    bool channels_first = false;  // An [N,C,H,W] of the file: ours is [N,H,W,C].
    Shape Ours() const;
  };
  struct Built {
    Interface interface;
    Output output;  // Has the shape Ours().
  };

  explicit ModelFile(SourceModel model);
  ~ModelFile();

  const std::string& Path() const;
  const std::string& Format() const;  // "ONNX opset 13", "GraphDef".
  int64_t OwnBatch() const;           // The file's own batch; 0 where it takes any.
  // Throws InputError if the file has a batch of its own and this is another.
  std::vector<Interface> Inputs(int64_t batch) const;
  // Adds the network behind these inputs, which have the shapes Inputs(batch)[i].Ours(). Throws
  // InputError naming the file, the node and its op.
  std::vector<Built> Build(GraphBuilder* builder, const std::vector<Output>& inputs,
                           const BuildSettings& settings) const;

 private:
  std::unique_ptr<const SourceModel> model_;
  std::unique_ptr<WeightStore> weights_;
  mutable std::mutex mutex_;  // Guards the weights, which Build puts into its own layouts.
};

// Both throw InputError: no such file, not one of this format, truncated, of a version, with an op
// or of a size that is not supported.
std::shared_ptr<const ModelFile> ReadOnnx(const std::filesystem::path& file);
std::shared_ptr<const ModelFile> ReadGraphDef(const std::filesystem::path& file);

// The same from memory; `name` stands for the file in messages. External data is looked for beside
// that name.
std::shared_ptr<const ModelFile> ParseOnnx(std::string_view bytes, const std::string& name);
std::shared_ptr<const ModelFile> ParseGraphDef(std::string_view bytes, const std::string& name);

// One tensor in a file of onnx's TensorProto, as in the test data of the ONNX model zoo.
Tensor ReadTensorProto(const std::filesystem::path& file);

}  // namespace cosched
