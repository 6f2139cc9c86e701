#include "engine/graph/image_types.h"

#include <algorithm>
#include <utility>

namespace cosched {
namespace {

constexpr ImageTypes kAlike{ImageTypes::kAll, 1};

constexpr std::pair<std::string_view, ImageTypes> kTable[] = {
    {"Conv2D", {0b1, 1, true}},
    {"Conv2DBackpropInput", {0b10, 1, true}},
    {"Conv2DBackpropFilter", {0b11, 0, true}},
    {"_FusedConv2D", {0b1001, 1, true}},
    {"_FusedMatMul", {0b1, 0}},
    {"_FusedScale", {0b1, 1}},
    {"_FusedLayerNorm", {0b1, 1}},
    {"BiasAdd", {0b1, 1}},
    {"BiasAddGrad", {0b1, 0}},
    {"FusedBatchNormV3", {0b1, 1}},
    {"FusedBatchNormGradV3", {0b11, 1}},
    {"Relu", kAlike},
    {"ReluGrad", kAlike},
    {"Relu6", kAlike},
    {"Relu6Grad", kAlike},
    {"Sigmoid", kAlike},
    {"SigmoidGrad", kAlike},
    {"HardSwish", kAlike},
    {"HardSwishGrad", kAlike},
    {"Sqrt", kAlike},
    {"Erf", kAlike},
    {"ErfGrad", kAlike},
    {"Gelu", kAlike},
    {"ClipByValue", kAlike},
    {"ClipByValueGrad", kAlike},
    {"MaxPool", kAlike},
    {"MaxPoolGrad", kAlike},
    {"AvgPool", kAlike},
    {"AvgPoolGrad", kAlike},
    {"AddV2", kAlike},
    {"Sub", kAlike},
    {"Mul", kAlike},
    {"RealDiv", kAlike},
    {"AddN", kAlike},
    {"ConcatV2", kAlike},
    {"Slice", kAlike},
    {"Pad", kAlike},
    {"Transpose", kAlike},
};

}  // namespace

ImageTypes ImageTypesOf(std::string_view op) {
  const auto* found = std::find_if(std::begin(kTable), std::end(kTable),
                                   [op](const auto& entry) { return entry.first == op; });
  return found == std::end(kTable) ? ImageTypes{} : found->second;
}

}  // namespace cosched
