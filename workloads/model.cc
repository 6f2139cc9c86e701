#include "workloads/model.h"

#include <algorithm>
#include <vector>

#include "engine/base/did_you_mean.h"
#include "engine/base/error.h"
#include "workloads/model_from_file.h"

namespace cosched {

// Defined in workloads/models/.
Output BuildEmpty(GraphBuilder& builder, Output images, bool training, uint64_t seed);
Output BuildLenet5(GraphBuilder& builder, Output images, bool training, uint64_t seed);
Output BuildResnet20(GraphBuilder& builder, Output images, bool training, uint64_t seed);
Output BuildResnet56(GraphBuilder& builder, Output images, bool training, uint64_t seed);
Output BuildAlexnet(GraphBuilder& builder, Output images, bool training, uint64_t seed);
Output BuildVgg16(GraphBuilder& builder, Output images, bool training, uint64_t seed);
Output BuildGooglenet(GraphBuilder& builder, Output images, bool training, uint64_t seed);
Output BuildInceptionV3(GraphBuilder& builder, Output images, bool training, uint64_t seed);
Output BuildResnet18(GraphBuilder& builder, Output images, bool training, uint64_t seed);
Output BuildResnet50(GraphBuilder& builder, Output images, bool training, uint64_t seed);
Output BuildMobilenetV2(GraphBuilder& builder, Output images, bool training, uint64_t seed);
Output BuildDensenet121(GraphBuilder& builder, Output images, bool training, uint64_t seed);
Output BuildSqueezenet11(GraphBuilder& builder, Output images, bool training, uint64_t seed);
Output BuildSegmenter(GraphBuilder& builder, Output images, bool training, uint64_t seed);

namespace {

// Learning rates are for batches of 32 without a schedule: stable from the first step.
std::vector<ModelInfo> SmallModels() {
  return {{.name = "lenet5",
           .summary = "LeNet-5 for 28x28 digits (LeCun et al. 1998)",
           .image = {28, 28, 1},
           .parameters = 61706,
           .learning_rate = 0.01f,
           .build = BuildLenet5},
          {.name = "resnet20",
           .summary = "ResNet-20 for CIFAR-10 (He et al. 2016)",
           .image = {32, 32, 3},
           .parameters = 272762,
           .learning_rate = 0.03f,
           .weight_decay = 2e-4f,
           .build = BuildResnet20},
          {.name = "resnet56",
           .summary =
               "ResNet-56 for CIFAR-10, the job of the malleability studies (Libutti et al. 2020)",
           .image = {32, 32, 3},
           .parameters = 856058,
           .learning_rate = 0.01f,
           .weight_decay = 2e-4f,
           .build = BuildResnet56},
          {.name = "segmenter",
           .summary = "sky or not, by pixel: a stand-in for ROMA's skyline extraction",
           .image = {224, 224, 3},
           .classes = 2,
           .parameters = 685602,
           .learning_rate = 0.01f,
           .weight_decay = 1e-4f,
           .build = BuildSegmenter}};
}

// Those with batch norm bear a learning rate of 0.01 from the first step, the others of 0.001.
std::vector<ModelInfo> ImageNetModels() {
  const auto model = [](std::string name, std::string summary, int64_t parameters,
                        float learning_rate, auto build) {
    return ModelInfo{.name = std::move(name),
                     .summary = std::move(summary),
                     .image = {224, 224, 3},
                     .classes = 1000,
                     .parameters = parameters,
                     .learning_rate = learning_rate,
                     .weight_decay = 1e-4f,
                     .build = build};
  };
  std::vector<ModelInfo> models = {
      model("alexnet", "AlexNet with one tower (Krizhevsky 2014)", 61'100'840, 1e-3f, BuildAlexnet),
      model("vgg16", "VGG-16 (Simonyan and Zisserman 2015)", 138'357'544, 1e-3f, BuildVgg16),
      model("googlenet", "GoogLeNet with batch norm (Szegedy et al. 2015)", 6'624'904, 0.01f,
            BuildGooglenet),
      model("inception_v3", "Inception-v3 (Szegedy et al. 2016)", 23'834'568, 0.01f,
            BuildInceptionV3),
      model("resnet18", "ResNet-18 (He et al. 2016)", 11'689'512, 0.01f, BuildResnet18),
      model("resnet50", "ResNet-50 (He et al. 2016, v1.5)", 25'557'032, 0.01f, BuildResnet50),
      model("mobilenet_v2", "MobileNetV2 (Sandler et al. 2018)", 3'504'872, 0.01f,
            BuildMobilenetV2),
      model("densenet121", "DenseNet-121 (Huang et al. 2017)", 7'978'856, 0.01f, BuildDensenet121),
      model("squeezenet1_1", "SqueezeNet 1.1 (Iandola et al. 2016)", 1'235'496, 1e-3f,
            BuildSqueezenet11),
  };
  std::ranges::find(models, "inception_v3", &ModelInfo::name)->image = {299, 299, 3};
  return models;
}

// In no list of models, which all compute.
const ModelInfo& EmptyModel() {
  static const ModelInfo model = {.name = "empty",
                                  .summary = "no network",
                                  .image = {1, 1, 2},
                                  .classes = 2,
                                  .build = BuildEmpty};
  return model;
}

const std::vector<ModelInfo>& KnownModels() {
  static const std::vector<ModelInfo> models = [] {
    std::vector<ModelInfo> all = SmallModels();
    for (ModelInfo& model : ImageNetModels()) all.push_back(std::move(model));
    return all;
  }();
  return models;
}

const ModelInfo* Find(std::string_view name) {
  if (name == EmptyModel().name) return &EmptyModel();
  const auto it = std::ranges::find(KnownModels(), name, &ModelInfo::name);
  return it == KnownModels().end() ? nullptr : &*it;
}

}  // namespace

std::span<const ModelInfo> Models() { return KnownModels(); }

std::string ModelNames() {
  std::string names;
  for (const ModelInfo& model : Models()) names += (names.empty() ? "" : ", ") + model.name;
  return names + ", " + EmptyModel().name;
}

bool IsModelName(std::string_view name) { return Find(name) != nullptr || IsModelFileName(name); }

std::shared_ptr<const ModelInfo> OpenModel(const std::string& name) {
  if (IsModelFileName(name)) return ModelFromFile(name);
  if (const ModelInfo* model = Find(name)) return std::make_shared<const ModelInfo>(*model);
  throw InputError({.key = "model",
                    .problem = "unknown model \"" + name + "\"" + DidYouMean(name, ModelNames()),
                    .allowed = ModelNames() + ", onnx:FILE, graphdef:FILE"});
}

}  // namespace cosched
