#pragma once
// Views of tensors as Eigen arrays; of bfloat16 ones, too, which are worked on as floats. Only .cc
// files of this folder include it.

#include <Eigen/Core>

#include "engine/kernels/kernel.h"

namespace cosched::eigen {

using ConstArray = Eigen::Map<const Eigen::ArrayXf>;
using Array = Eigen::Map<Eigen::ArrayXf>;

// Calls make(T()) with the element type of the node's images.
template <typename Make>
std::unique_ptr<Kernel> ForImages(const OutputInfo& images, Make make) {
  return images.type == DataType::kBFloat16 ? make(Eigen::bfloat16()) : make(float());
}

template <typename T>
const T* In(const KernelContext& context, size_t index) {
  return static_cast<const T*>(context.inputs[index]->Data());
}
template <typename T>
T* Out(KernelContext& context, size_t index) {
  return static_cast<T*>(context.outputs[index].Data());
}

// Elements of T as an array of floats, and back.
template <typename T>
auto Load(const T* from, int64_t length) {
  return Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>(from, length).template cast<float>();
}
template <typename T, typename Floats>
void Store(const Floats& floats, T* to) {
  Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>(to, floats.size()) = floats.template cast<T>();
}

inline const float* In(const KernelContext& context, size_t index) {
  return context.inputs[index]->Floats();
}
inline float* Out(KernelContext& context, size_t index) { return context.outputs[index].Floats(); }

}  // namespace cosched::eigen
