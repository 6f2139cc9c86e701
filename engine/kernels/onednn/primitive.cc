#include "engine/kernels/onednn/primitive.h"

#include <algorithm>
#include <cstddef>
#include <oneapi/dnnl/dnnl_threadpool.hpp>
#include <utility>

#include "engine/base/check.h"
#include "engine/pool/thread_pools.h"

namespace cosched::onednn {

const dnnl::engine& CpuEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

CapacityScope::CapacityScope(const KernelSpec& spec, double seconds)
    : CapacityScope(TasksOf(seconds, spec.Threads())) {}

CapacityScope::CapacityScope(int tasks) : tasks_(tasks) {
  dnnl_threadpool_interop_get_max_concurrency(&before_);
  dnnl_threadpool_interop_set_max_concurrency(tasks_);
}

CapacityScope::~CapacityScope() { dnnl_threadpool_interop_set_max_concurrency(before_); }

PrimitiveKernel::PrimitiveKernel(const KernelSpec& spec, const CapacityScope& scope)
    : tasks_(scope.Tasks()),
      stream_(dnnl::threadpool_interop::make_stream(CpuEngine(), &spec.pools.onednn(tasks_))) {}

PrimitiveKernel::PrimitiveKernel(const KernelSpec& spec, const CapacityScope& scope,
                                 const dnnl::primitive_desc_base& descriptor,
                                 const std::vector<Operand>& operands)
    : PrimitiveKernel(spec, scope) {
  AddPiece(Prepare(descriptor, operands));
}

void PrimitiveKernel::ComputePiece(KernelContext& context, int piece) {
  while (packed_ < packing_pieces_) PackPiece(context.pools, packed_);
  const Piece& now = pieces_[static_cast<size_t>(piece)];
  for (const Binding& binding : now.bindings) {
    // oneDNN's handles are not const; inputs are only read.
    void* data = binding.is_output ? context.outputs[binding.index].Data()
                                   : const_cast<void*>(context.inputs[binding.index]->Data());
    dnnl_memory_set_data_handle(binding.memory.get(), static_cast<std::byte*>(data) +
                                                          binding.offset * binding.element_bytes);
  }
  for (StepId step : now.steps) Run(steps_[step], context.pools);
}

dnnl::memory PrimitiveKernel::Constant(const KernelSpec& spec, size_t input, int64_t offset,
                                       const dnnl::memory::desc& plain,
                                       const dnnl::memory::desc& wanted) {
  const Tensor* value = spec.Constant(input);
  CHECK(value != nullptr) << "input " << input << " of " << spec.node.name << " is no constant";
  kept_constants_.insert(input);
  void* data = const_cast<float*>(value->Floats()) + offset;  // Only read.
  if (plain == wanted) {
    plain_constants_.push_back(*value);
    return {plain, CpuEngine(), data};
  }
  const std::vector<uint8_t> layout = dnnl::memory::desc(wanted).get_blob();
  std::shared_ptr<PackedConstants::Entry> own;
  std::shared_ptr<PackedConstants::Entry>& entry =
      spec.packed == nullptr ? own : spec.packed->At(data, {layout.begin(), layout.end()});
  if (!entry) entry = std::make_shared<PackedConstant>(*value, data, plain, wanted, spec);
  constants_.push_back(std::static_pointer_cast<PackedConstant>(entry));
  packing_pieces_ += constants_.back()->reorder.Count();
  return constants_.back()->to;
}

PrimitiveKernel::PackedConstant::PackedConstant(const Tensor& value, void* data,
                                                const dnnl::memory::desc& from_layout,
                                                const dnnl::memory::desc& wanted,
                                                const KernelSpec& spec)
    : plain(value),
      from(data),
      memory(Shape{static_cast<int64_t>(wanted.get_size() / sizeof(float))}),
      to(wanted, CpuEngine(), memory.Data()),
      reorder(from_layout, to, spec) {}

// In the first step rather than at creation: there the pool's workers take part, and a paused one
// waits.
void PrimitiveKernel::PackPiece(ThreadPools&, int piece) {
  if (piece < packed_) return;
  int part = piece;
  auto constant = constants_.begin();
  for (; part >= (*constant)->reorder.Count(); ++constant) part -= (*constant)->reorder.Count();
  PackedConstant& now = **constant;
  if (part >= now.packed) {
    now.reorder.Execute(part, now.from, &stream_);
    now.packed = part + 1;
    if (now.packed == now.reorder.Count()) now.plain = Tensor();
  }
  packed_ = piece + 1;
}

PrimitiveKernel::Piece PrimitiveKernel::Prepare(const dnnl::primitive_desc_base& descriptor,
                                                const std::vector<Operand>& operands) {
  Piece piece;
  std::vector<StepId> afterwards;
  Arguments arguments;
  for (const Operand& operand : operands) {
    if (operand.constant) {
      arguments.emplace_back(operand.argument, operand.constant);
      continue;
    }
    dnnl::memory tensor = Unbound(operand.plain), argument = tensor;
    piece.bindings.push_back({tensor, operand.is_output, operand.index});
    if (operand.wanted != operand.plain) {
      argument = operand.shared ? Share(operand) : Keep(operand.wanted);
      if (operand.is_output) afterwards.push_back(AddReorder(argument, tensor));
      if (!operand.is_output && !operand.shared)
        piece.steps.push_back(AddReorder(tensor, argument));
    }
    arguments.emplace_back(operand.argument, argument);
  }
  piece.steps.push_back(AddStep(descriptor, arguments));
  piece.steps.insert(piece.steps.end(), afterwards.begin(), afterwards.end());
  return piece;
}

dnnl::memory PrimitiveKernel::Share(const Operand& operand) {
  for (const SharedOperand& shared : shared_) {
    if (shared.index == operand.index && shared.reordered.get_desc() == operand.wanted)
      return shared.reordered;
  }
  const dnnl::memory tensor = Unbound(operand.plain), reordered = Keep(operand.wanted);
  shared_.push_back({operand.index, reordered});
  pending_.bindings.push_back({tensor, operand.is_output, operand.index});
  pending_.steps.push_back(AddReorder(tensor, reordered));
  return reordered;
}

void PrimitiveKernel::AddPiece(Piece piece) {
  piece.bindings.insert(piece.bindings.begin(), pending_.bindings.begin(), pending_.bindings.end());
  piece.steps.insert(piece.steps.begin(), pending_.steps.begin(), pending_.steps.end());
  pending_ = {};
  pieces_.push_back(std::move(piece));
}

dnnl::memory PrimitiveKernel::Unbound(const dnnl::memory::desc& descriptor) {
  return {descriptor, CpuEngine(), nullptr};
}

dnnl::memory PrimitiveKernel::Keep(const dnnl::memory::desc& descriptor) {
  const size_t floats = (descriptor.get_size() + sizeof(float) - 1) / sizeof(float);
  own_memory_.emplace_back(Shape{static_cast<int64_t>(floats)});
  return {descriptor, CpuEngine(), own_memory_.back().Data()};
}

PrimitiveKernel::StepId PrimitiveKernel::AddStep(const dnnl::primitive_desc_base& descriptor,
                                                 const Arguments& arguments) {
  Step step{dnnl::primitive(descriptor.get()), {}};
  const auto add = [&](int argument, const dnnl::memory& memory) {
    step.arguments.push_back({argument, memory.get()});
    kept_.push_back(memory);
  };
  for (const auto& [argument, memory] : arguments) add(argument, memory);
  add(DNNL_ARG_SCRATCHPAD, Scratch(descriptor.scratchpad_desc()));
  steps_.push_back(std::move(step));
  return steps_.size() - 1;
}

PrimitiveKernel::StepId PrimitiveKernel::AddReorder(const dnnl::memory& from,
                                                    const dnnl::memory& to) {
  const int tasks = TasksOf(SecondsToMove(from.get_desc(), to.get_desc(), rates_), tasks_);
  if (auto of_images = ImageReorder::Make(from, to, tasks)) {
    steps_.push_back({{}, {}, std::move(of_images)});
    return steps_.size() - 1;
  }
  const CapacityScope scope(tasks);
  return AddStep(dnnl::reorder::primitive_desc(CpuEngine(), from.get_desc(), CpuEngine(),
                                               to.get_desc(), Attributes()),
                 {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

dnnl::memory PrimitiveKernel::Scratch(const dnnl::memory::desc& descriptor) {
  scratch_.push_back(Unbound(descriptor));
  if (scratch_buffer_.IsEmpty() || descriptor.get_size() > scratch_buffer_.Bytes()) {
    const size_t floats = (descriptor.get_size() + sizeof(float) - 1) / sizeof(float);
    scratch_buffer_ = Tensor(Shape{static_cast<int64_t>(floats)});
  }
  for (dnnl::memory& memory : scratch_) memory.set_data_handle(scratch_buffer_.Data());
  return scratch_.back();
}

void PrimitiveKernel::Run(const Step& step, ThreadPools& pools) const {
  if (step.reorder != nullptr) return step.reorder->Execute(pools);
  Execute(step.primitive, stream_, step.arguments);
}

// By the C face, since the C++ one builds a map and a vector at every call.
void Execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
             std::span<const dnnl_exec_arg_t> arguments) {
  const dnnl_status_t status = dnnl_primitive_execute(
      primitive.get(), stream.get(), static_cast<int>(arguments.size()), arguments.data());
  CHECK(status == dnnl_success) << "oneDNN primitive: status " << status;
}

dnnl::primitive_attr Attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

double SecondsToMove(const dnnl::memory::desc& from, const dnnl::memory::desc& to,
                     const KernelRates& rates) {
  return Work{0, static_cast<double>(from.get_size() + to.get_size())}.Seconds(rates);
}

dnnl::memory::data_type TypeOf(DataType type) {
  switch (type) {
    case DataType::kFloat: return dnnl::memory::data_type::f32;
    case DataType::kInt32: return dnnl::memory::data_type::s32;
    case DataType::kBFloat16: return dnnl::memory::data_type::bf16;
  }
  return dnnl::memory::data_type::undef;
}

dnnl::memory::desc Flat(int64_t elements, DataType type) {
  return {{elements}, TypeOf(type), dnnl::memory::format_tag::a};
}

dnnl::memory::desc Nhwc(int64_t n, int64_t h, int64_t w, int64_t c, DataType type) {
  return {{n, c, h, w}, TypeOf(type), dnnl::memory::format_tag::nhwc};
}

}  // namespace cosched::onednn
