#include "engine/kernels/onednn/primitive.h"

#include <algorithm>
#include <oneapi/dnnl/dnnl_threadpool.hpp>
#include <utility>

#include "engine/base/check.h"
#include "engine/pool/thread_pools.h"

namespace cosched::onednn {

const dnnl::engine& CpuEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

CapacityScope::CapacityScope(const ThreadPools& pools) {
  dnnl_threadpool_interop_get_max_concurrency(&before_);
  dnnl_threadpool_interop_set_max_concurrency(std::max(pools.Capacity().intra, 1));
}

CapacityScope::~CapacityScope() { dnnl_threadpool_interop_set_max_concurrency(before_); }

PrimitiveKernel::PrimitiveKernel(ThreadPools& pools, const dnnl::primitive_desc_base& descriptor,
                                 const std::vector<Operand>& operands)
    : stream_(dnnl::threadpool_interop::make_stream(CpuEngine(), &pools.onednn())) {
  Step main{dnnl::primitive(descriptor.get()), {}};
  std::vector<Step> afterwards;
  for (const Operand& operand : operands) {
    dnnl::memory tensor(operand.plain, CpuEngine(), nullptr);
    bindings_.push_back({tensor, operand.is_output, operand.index});
    dnnl::memory argument = tensor;
    if (operand.wanted != operand.plain) {
      argument = Keep(dnnl::memory(operand.wanted, CpuEngine()));
      operand.is_output ? AddReorder(&afterwards, argument, tensor)
                        : AddReorder(&steps_, tensor, argument);
    }
    main.arguments.push_back({operand.argument, argument.get()});
  }
  const dnnl::memory scratch = Keep(dnnl::memory(descriptor.scratchpad_desc(), CpuEngine()));
  main.arguments.push_back({DNNL_ARG_SCRATCHPAD, scratch.get()});
  steps_.push_back(std::move(main));
  std::move(afterwards.begin(), afterwards.end(), std::back_inserter(steps_));
}

void PrimitiveKernel::ComputePiece(KernelContext& context, int) {
  for (const Binding& binding : bindings_) {
    // oneDNN's handles are not const; inputs are only read.
    void* data = binding.is_output ? context.outputs[binding.index].Data()
                                   : const_cast<void*>(context.inputs[binding.index]->Data());
    dnnl_memory_set_data_handle(binding.tensor.get(), data);
  }
  for (const Step& step : steps_) Run(step);
}

dnnl::memory PrimitiveKernel::Keep(dnnl::memory memory) {
  kept_.push_back(memory);
  return memory;
}

void PrimitiveKernel::AddReorder(std::vector<Step>* steps, const dnnl::memory& from,
                                 const dnnl::memory& to) {
  const dnnl::reorder::primitive_desc descriptor(CpuEngine(), from.get_desc(), CpuEngine(),
                                                 to.get_desc(), Attributes());
  const dnnl::memory scratch = Keep(dnnl::memory(descriptor.scratchpad_desc(), CpuEngine()));
  steps->push_back({dnnl::reorder(descriptor),
                    {{DNNL_ARG_FROM, from.get()},
                     {DNNL_ARG_TO, to.get()},
                     {DNNL_ARG_SCRATCHPAD, scratch.get()}}});
}

void PrimitiveKernel::Run(const Step& step) const {
  // The C face, since the C++ one builds a map and a vector at every call.
  const dnnl_status_t status =
      dnnl_primitive_execute(step.primitive.get(), stream_.get(),
                             static_cast<int>(step.arguments.size()), step.arguments.data());
  CHECK(status == dnnl_success) << "oneDNN primitive: status " << status;
}

dnnl::primitive_attr Attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::memory::desc Flat(int64_t elements) {
  return {{elements}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a};
}

dnnl::memory::desc Nhwc(int64_t n, int64_t h, int64_t w, int64_t c) {
  return {{n, c, h, w}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::nhwc};
}

}  // namespace cosched::onednn
