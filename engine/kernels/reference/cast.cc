// Cast: a copy, since InFloats (engine/kernels/in_floats.h) has converted what it gets.

#include <cstring>

#include "engine/kernels/factories.h"

namespace cosched::reference {

std::unique_ptr<Kernel> MakeCast(const KernelSpec& spec) {
  return KernelFrom([bytes = static_cast<size_t>(spec.inputs[0].shape.Elements()) *
                             sizeof(float)](KernelContext& context) {
    std::memcpy(context.outputs[0].Data(), context.inputs[0]->Data(), bytes);
  });
}

}  // namespace cosched::reference
