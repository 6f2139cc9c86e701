#include "workloads/model.h"

#include <algorithm>
#include <array>

namespace cosched {

// Defined in workloads/models/.
Output BuildLenet5(GraphBuilder& builder, Output images, bool training, uint64_t seed);
Output BuildResnet20(GraphBuilder& builder, Output images, bool training, uint64_t seed);
Output BuildResnet56(GraphBuilder& builder, Output images, bool training, uint64_t seed);

namespace {

// Learning rates are for batches of 32 without a schedule: stable from the first step.
const std::array kModels = {
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

}  // namespace

std::span<const ModelInfo> Models() { return kModels; }

const ModelInfo* FindModel(std::string_view name) {
  const auto it = std::ranges::find(kModels, name, &ModelInfo::name);
  return it == kModels.end() ? nullptr : &*it;
}

}  // namespace cosched
