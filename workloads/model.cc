#include "workloads/model.h"

#include <algorithm>
#include <vector>

#include "engine/base/error.h"

namespace cosched {

// Defined in workloads/models/.
Output BuildLenet5(GraphBuilder& builder, Output images, bool training, uint64_t seed);
Output BuildResnet20(GraphBuilder& builder, Output images, bool training, uint64_t seed);
Output BuildResnet56(GraphBuilder& builder, Output images, bool training, uint64_t seed);

namespace {

// Learning rates are for batches of 32 without a schedule: stable from the first step.
const std::vector<ModelInfo>& Table() {
  static const std::vector<ModelInfo> models = {
      ModelInfo{.name = "lenet5",
                .summary = "LeNet-5 for 28x28 digits (LeCun et al. 1998)",
                .image = {28, 28, 1},
                .parameters = 61706,
                .learning_rate = 0.01f,
                .build = BuildLenet5},
      ModelInfo{.name = "resnet20",
                .summary = "ResNet-20 for CIFAR-10 (He et al. 2016)",
                .image = {32, 32, 3},
                .parameters = 272762,
                .learning_rate = 0.03f,
                .weight_decay = 2e-4f,
                .build = BuildResnet20},
      ModelInfo{
          .name = "resnet56",
          .summary =
              "ResNet-56 for CIFAR-10, the job of the malleability studies (Libutti et al. 2020)",
          .image = {32, 32, 3},
          .parameters = 856058,
          .learning_rate = 0.01f,
          .weight_decay = 2e-4f,
          .build = BuildResnet56},
  };
  return models;
}

const ModelInfo* Find(std::string_view name) {
  const auto it = std::ranges::find(Table(), name, &ModelInfo::name);
  return it == Table().end() ? nullptr : &*it;
}

}  // namespace

std::span<const ModelInfo> Models() { return Table(); }

std::string ModelNames() {
  std::string names;
  for (const ModelInfo& model : Models()) names += (names.empty() ? "" : ", ") + model.name;
  return names;
}

bool IsModelName(std::string_view name) { return Find(name) != nullptr; }

std::shared_ptr<const ModelInfo> OpenModel(const std::string& name) {
  if (const ModelInfo* model = Find(name)) return std::make_shared<const ModelInfo>(*model);
  throw InputError(
      {.key = "model", .problem = "unknown model \"" + name + "\"", .allowed = ModelNames()});
}

}  // namespace cosched
