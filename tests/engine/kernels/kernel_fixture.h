#pragma once
// For tests of kernels: builds a one-op graph around given tensors, runs its kernel, compares
// tensors.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "engine/base/random.h"
#include "engine/graph/graph.h"
#include "engine/kernels/kernel.h"
#include "engine/pool/thread_pools.h"

namespace cosched::testing {

// One op with its inputs' values.
struct OpCase {
  std::string name;
  std::string op;
  std::vector<Tensor> inputs;
  std::map<std::string, Attribute> attributes;
};
inline std::ostream& operator<<(std::ostream& stream, const OpCase& c) { return stream << c.name; }

// How many threads the work is divided for, and how many do it.
struct PoolSize {
  int capacity;
  int active;
};
inline std::ostream& operator<<(std::ostream& stream, const PoolSize& size) {
  return stream << "capacity" << size.capacity << "_active" << size.active;
}

// Pools that are never bound, with `active` threads in a loop: the caller and active - 1 helpers.
class TestPools : public ThreadPools {
 public:
  explicit TestPools(const PoolSize& size)
      : ThreadPools({1, size.capacity}, Binding::kNone, nullptr) {
    SetActive(size.active);
  }
  void SetActive(int active) { Resize(CpuSet::Range(0, active - 1), {1, active}); }
};

inline Tensor RandomTensor(const Shape& shape, uint64_t seed, double low = -1, double high = 1) {
  Tensor tensor(shape);
  Random random(seed);
  for (int64_t i = 0; i < tensor.Elements(); ++i)
    tensor.Floats()[i] = static_cast<float>(random.Uniform(low, high));
  return tensor;
}

// A case's kernel with its own copies of the inputs (some ops write to them) and its outputs.
class OpRun {
 public:
  OpRun(const OpCase& c, ThreadPools& pools, KernelBackend backend,
        std::chrono::microseconds piece_time = kPieceTime)
      : OpRun(c, pools, piece_time,
              [backend](const KernelSpec& spec) { return CreateKernel(spec, backend); }) {}
  // make(spec) creates the kernel.
  OpRun(const OpCase& c, ThreadPools& pools, std::chrono::microseconds piece_time,
        const std::function<std::unique_ptr<Kernel>(const KernelSpec& spec)>& make)
      : pools_(pools) {
    std::vector<Output> inputs;
    std::vector<OutputInfo> infos;
    for (const Tensor& value : c.inputs) {
      inputs.push_back({AddInput(value)});
      infos.push_back({value.GetShape(), value.Type()});
      inputs_.push_back(value.Clone());
    }
    for (const Tensor& input : inputs_) input_pointers_.push_back(&input);
    const Node& node = graph_.At(graph_.Add(c.op, "node", inputs, c.attributes));
    for (const OutputInfo& info : node.outputs) outputs_.emplace_back(info.shape, info.type);
    for (Tensor& output : outputs_) std::memset(output.Data(), 0xff, output.Bytes());  // NaNs.
    if (c.op == "AssignMovingAverage" || c.op == "ApplyMomentum") outputs_[0] = inputs_[0];
    kernel_ = make({node, infos, pools, piece_time});
  }

  void Compute() {
    KernelContext context{input_pointers_, outputs_, pools_};
    kernel_->Compute(context);
  }
  int Pieces() const { return kernel_->Pieces(); }
  void ComputePiece(int piece) {
    KernelContext context{input_pointers_, outputs_, pools_};
    kernel_->ComputePiece(context, piece);
  }

  // All the memory that Compute may write.
  const std::vector<Tensor>& Outputs() const { return outputs_; }
  const std::vector<Tensor>& Inputs() const { return inputs_; }

 private:
  NodeId AddInput(const Tensor& value) {
    if (value.Type() != DataType::kInt32)
      return graph_.Add("VariableV2", "", {}, {{"initial", value}});
    return graph_.Add("Placeholder", "", {},
                      {{"shape", value.GetShape().Sizes()}, {"dtype", std::string("int32")}});
  }

  Graph graph_;
  ThreadPools& pools_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<const Tensor*> input_pointers_;
  std::unique_ptr<Kernel> kernel_;
};

// Relative to the largest value, as sums of another order differ by that scale, not by each
// result's own.
inline void ExpectClose(const Tensor& expected, const Tensor& actual, float tolerance = 2e-5f) {
  ASSERT_EQ(expected.GetShape(), actual.GetShape());
  ASSERT_EQ(expected.Type(), actual.Type());
  if (expected.Type() == DataType::kBFloat16) {
    ExpectClose(expected.ConvertedTo(DataType::kFloat), actual.ConvertedTo(DataType::kFloat),
                tolerance);
    return;
  }
  if (expected.Type() != DataType::kFloat) return;
  float scale = 1e-3f;
  for (int64_t i = 0; i < expected.Elements(); ++i)
    scale = std::max(scale, std::abs(expected.Floats()[i]));
  for (int64_t i = 0; i < expected.Elements(); ++i)
    ASSERT_NEAR(expected.Floats()[i], actual.Floats()[i], tolerance * scale) << "element " << i;
}

// Outputs, and inputs: variables that the op writes.
inline void ExpectAllClose(const OpRun& expected, const OpRun& actual) {
  for (size_t i = 0; i < expected.Outputs().size(); ++i)
    ExpectClose(expected.Outputs()[i], actual.Outputs()[i]);
  for (size_t i = 0; i < expected.Inputs().size(); ++i)
    ExpectClose(expected.Inputs()[i], actual.Inputs()[i]);
}

inline bool SameBits(const Tensor& a, const Tensor& b) {
  return a.Bytes() == b.Bytes() && std::memcmp(a.Data(), b.Data(), a.Bytes()) == 0;
}

}  // namespace cosched::testing
