#pragma once
// Models read from files of other frameworks, as ModelInfo: "onnx:PATH" and "graphdef:PATH"
// wherever a model's name is asked for. Called by OpenModel, the configuration and `cosched model`.
// Thread-safe.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "engine/graph/readers/model_file.h"
#include "workloads/model.h"

namespace cosched {

// "onnx:PATH" or "graphdef:PATH".
bool IsModelFileName(std::string_view name);
// The same with an absolute path, a relative one starting from this folder; other names stay.
std::string WithAbsolutePath(const std::string& name, const std::filesystem::path& folder);
// The folder of such a file, where its tensors may be, too; empty for other names.
std::string FolderOfModelFile(const std::string& name);

// Throws InputError naming the file. REQUIRES: IsModelFileName(name).
std::shared_ptr<const ModelFile> OpenModelFile(const std::string& name);
// As a program for tenants: one image as input, one row of scores by class as output, of which a
// final Softmax is left out. Throws InputError for anything else.
std::shared_ptr<const ModelInfo> ModelFromFile(const std::string& name);

}  // namespace cosched
