#include "engine/kernels/in_floats.h"

#include <cstring>

namespace cosched {
namespace {

bool IsHalf(const OutputInfo& info) { return info.type == DataType::kBFloat16; }

OutputInfo Widened(const OutputInfo& info) {
  return {info.shape, IsHalf(info) ? DataType::kFloat : info.type};
}

class Converting : public Kernel {
 public:
  Converting(const KernelSpec& spec, KernelMaker* make) : node_(spec.node) {
    std::vector<OutputInfo> infos;
    for (const OutputInfo& input : spec.inputs) infos.push_back(Widened(input));
    for (OutputInfo& output : node_.outputs) output = Widened(output);
    kernel_ =
        make({node_, infos, spec.pools, spec.piece_time, spec.rates, {}, nullptr, spec.threads});
  }

  void ComputePiece(KernelContext& context, int) override {
    std::vector<Tensor> inputs, outputs;
    std::vector<const Tensor*> pointers;
    for (const Tensor* input : context.inputs) {
      const bool is_half = input->Type() == DataType::kBFloat16;
      inputs.push_back(is_half ? input->ConvertedTo(DataType::kFloat) : *input);
    }
    for (const Tensor& input : inputs) pointers.push_back(&input);
    for (const Tensor& output : context.outputs) {
      const bool is_half = output.Type() == DataType::kBFloat16;
      outputs.push_back(is_half ? Tensor(output.GetShape()) : output);
    }
    KernelContext inner{pointers, outputs, context.pools};
    kernel_->Compute(inner);
    for (size_t i = 0; i < outputs.size(); ++i) {
      Tensor& output = context.outputs[i];
      if (output.Type() != DataType::kBFloat16) continue;
      const Tensor rounded = outputs[i].ConvertedTo(DataType::kBFloat16);
      std::memcpy(output.Data(), rounded.Data(), rounded.Bytes());
    }
  }

 private:
  Node node_;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace

std::unique_ptr<Kernel> InFloats(const KernelSpec& spec, KernelMaker* make) {
  bool any = false;
  for (const OutputInfo& input : spec.inputs) any = any || IsHalf(input);
  for (const OutputInfo& output : spec.node.outputs) any = any || IsHalf(output);
  return any ? std::make_unique<Converting>(spec, make) : make(spec);
}

}  // namespace cosched
