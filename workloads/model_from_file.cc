#include "workloads/model_from_file.h"

#include <algorithm>

#include "engine/base/error.h"

namespace cosched {
namespace {

constexpr std::string_view kOnnx = "onnx:";
constexpr std::string_view kGraphDef = "graphdef:";

std::string_view PrefixOf(std::string_view name) {
  return name.starts_with(kOnnx) ? kOnnx : name.starts_with(kGraphDef) ? kGraphDef : "";
}

[[noreturn]] void Refuse(const ModelFile& file, const std::string& problem,
                         const std::string& allowed) {
  throw InputError({.file = file.Path(), .problem = problem, .allowed = allowed});
}

// A build that only tells the output's shape and the number of parameters.
void Measure(const ModelFile& file, const ModelFile::Interface& input, ModelInfo* info) {
  Graph graph;
  GraphBuilder builder(&graph);
  const Output images = builder.Placeholder("images", input.Ours());
  const int64_t batch = input.shape[0];
  const auto outputs =
      file.Build(&builder, {images}, {.batch = batch, .training = true, .logits = true});
  const Shape& scores = outputs[0].interface.shape;
  if (outputs.size() != 1 || scores.Rank() != 2 || scores[0] != batch) {
    Refuse(file,
           std::to_string(outputs.size()) + " outputs, the first of shape " + scores.ToString(),
           "one output [N,classes]");
  }
  info->classes = static_cast<int>(scores[1]);
  for (const Output& variable : builder.TrainableVariables()) {
    info->parameters += graph.Info(variable).shape.Elements();
  }
}

}  // namespace

bool IsModelFileName(std::string_view name) { return !PrefixOf(name).empty(); }

std::string WithAbsolutePath(const std::string& name, const std::filesystem::path& folder) {
  const std::string prefix(PrefixOf(name));
  if (prefix.empty()) return name;
  const std::filesystem::path path = folder / name.substr(prefix.size());
  return prefix + std::filesystem::absolute(path).lexically_normal().string();
}

std::string FolderOfModelFile(const std::string& name) {
  const std::string_view prefix = PrefixOf(name);
  if (prefix.empty()) return "";
  return std::filesystem::absolute(name.substr(prefix.size())).parent_path().string();
}

std::shared_ptr<const ModelFile> OpenModelFile(const std::string& name) {
  const std::string_view prefix = PrefixOf(name);
  const std::string path = name.substr(prefix.size());
  return prefix == kOnnx ? ReadOnnx(path) : ReadGraphDef(path);
}

std::shared_ptr<const ModelInfo> ModelFromFile(const std::string& name) {
  const std::shared_ptr<const ModelFile> file = OpenModelFile(name);
  const int64_t batch = std::max<int64_t>(file->OwnBatch(), 1);
  const std::vector<ModelFile::Interface> inputs = file->Inputs(batch);
  if (inputs.size() != 1 || inputs[0].shape.Rank() != 4) {
    Refuse(*file,
           std::to_string(inputs.size()) + " inputs" +
               (inputs.empty() ? "" : ", the first of shape " + inputs[0].shape.ToString()),
           "one input of images");
  }
  const Shape image = inputs[0].Ours();
  auto info = std::make_shared<ModelInfo>();
  info->name = name;
  info->summary = file->Format();
  info->image = {image[1], image[2], image[3]};
  info->learning_rate = 0.01f;
  Measure(*file, inputs[0], info.get());
  info->build = [file](GraphBuilder& builder, Output images, bool training, uint64_t) {
    const int64_t size = builder.graph().Info(images).shape[0];
    return file->Build(&builder, {images}, {.batch = size, .training = training, .logits = true})[0]
        .output;
  };
  return info;
}

}  // namespace cosched
