#include "engine/session/fetch_plan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/base/check.h"
#include "engine/base/memory.h"
#include "engine/graph/fetch.h"
#include "engine/graph/ops.h"
#include "engine/graph/shape_inference.h"
#include "engine/pool/thread_pools.h"
#include "engine/session/cost.h"
#include "engine/session/memory_plan.h"
#include "engine/session/run_buffers.h"
#include "engine/session/value_plan.h"
#include "engine/session/views.h"

namespace cosched {

FetchPlan::FetchPlan(SessionStore* store, const std::vector<std::string>& fetches,
                     const Dividing& dividing)
    : store_(*store) {
  std::vector<Output> outputs;
  outputs.reserve(fetches.size());
  for (const std::string& fetch : fetches) outputs.push_back(ParseFetch(store_.graph, fetch));
  AddSteps(outputs);
  AddEdges(dividing.slices);
  FindKernels(dividing.threads);
  AssignBuffers(outputs);
  Connect(outputs);
  OrderPacking();
  queue_ = std::make_unique<ReadyQueue>(&tasks_);
}

std::vector<OutputInfo> FetchPlan::InputInfos(const Node& node) const {
  std::vector<OutputInfo> infos;
  for (const Output& input : node.inputs) infos.push_back(store_.graph.Info(input));
  return infos;
}

std::vector<const Tensor*> FetchPlan::Constants(const Node& node) const {
  std::vector<const Tensor*> constants;
  for (const Output& input : node.inputs) {
    const bool is_constant = store_.graph.At(input.node).op == "Const";
    constants.push_back(is_constant ? &store_.sources[static_cast<size_t>(input.node)] : nullptr);
  }
  return constants;
}

// One step for each node that the fetches need, sources left out.
void FetchPlan::AddSteps(const std::vector<Output>& fetches) {
  const Graph& graph = store_.graph;
  std::vector<bool> needed(static_cast<size_t>(graph.Size()), false);
  for (const Output& fetch : fetches) needed[static_cast<size_t>(fetch.node)] = true;
  task_of_.assign(static_cast<size_t>(graph.Size()), -1);
  for (NodeId id = graph.Size() - 1; id >= 0; --id) {
    if (!needed[static_cast<size_t>(id)]) continue;
    for (const Output& input : graph.At(id).inputs) needed[static_cast<size_t>(input.node)] = true;
    for (NodeId control : graph.At(id).control_inputs) needed[static_cast<size_t>(control)] = true;
  }
  for (const Node& node : graph.Nodes()) {
    if (!needed[static_cast<size_t>(node.id)]) continue;
    if (node.op == "Placeholder") placeholders_.push_back(node.id);
    if (IsSource(node.op)) continue;
    const double cost = EstimateCost(node, InputInfos(node));
    cost_ += cost;
    task_of_[static_cast<size_t>(node.id)] =
        tasks_.Add(!Computes(node) || IsCheap(node.op) || cost < kCheapCost, cost, node.turn);
    steps_.push_back({.node = &node, .kernel = nullptr, .inputs = {}, .outputs = {}});
  }
}

void FetchPlan::FindKernels(int threads) {
  const Ancestors before(tasks_);
  store_.kernels.BeginPlan();
  for (size_t task = 0; task < steps_.size(); ++task) {
    const Node& node = *steps_[task].node;
    if (!Computes(node)) continue;
    steps_[task].kernel = store_.kernels.For(
        {node, InputInfos(node), store_.pools, store_.piece_time, store_.rates, Constants(node),
         /*packed=*/nullptr, threads},
        static_cast<int>(task), before);
  }
}

void FetchPlan::AddEdges(Slices slices) {
  const auto add = [this](NodeId before, NodeId after) {
    const int from = task_of_[static_cast<size_t>(before)];
    const int to = task_of_[static_cast<size_t>(after)];
    if (from != -1 && to != -1) tasks_.AddEdge(from, to);
  };
  for (const Step& step : steps_) {
    for (const Output& input : step.node->inputs) add(input.node, step.node->id);
    for (NodeId control : step.node->control_inputs) add(control, step.node->id);
  }
  for (const auto& [reader, writer] : store_.write_order) add(reader, writer);
  if (slices == Slices::kInTurn) tasks_.RunInTurn();
  tasks_.Seal();
}

// While a constant is packed it is there twice, so that the largest decides how much memory is
// needed at most: it goes first, before others are kept in layouts that take more than their plain
// ones.
void FetchPlan::OrderPacking() {
  std::map<Kernel*, size_t> bytes;
  for (const Step& step : steps_) {
    for (size_t i = 0; i < step.node->inputs.size(); ++i) {
      if (step.kernel != nullptr && step.kernel->KeepsConstant(i))
        bytes[step.kernel] +=
            store_.sources[static_cast<size_t>(step.node->inputs[i].node)].Bytes();
    }
  }
  std::vector<Kernel*> kernels;
  for (const auto& [kernel, size] : bytes) kernels.push_back(kernel);
  std::sort(kernels.begin(), kernels.end(),
            [&](Kernel* a, Kernel* b) { return bytes[a] > bytes[b]; });
  for (Kernel* kernel : kernels) {
    for (int piece = 0; piece < kernel->PackingPieces(); ++piece)
      packing_.push_back({kernel, piece});
  }
  packing_task_.Add(/*cheap=*/false, /*cost=*/1);
  packing_task_.Seal();
  packing_queue_ = std::make_unique<ReadyQueue>(&packing_task_);
}

void FetchPlan::AddReads(std::vector<bool>* read) const {
  for (NodeId fetched : fetched_nodes_) (*read)[static_cast<size_t>(fetched)] = true;
  for (const Step& step : steps_) {
    for (size_t i = 0; i < step.node->inputs.size(); ++i) {
      const bool kept = step.kernel != nullptr && step.kernel->KeepsConstant(i);
      if (!kept) (*read)[static_cast<size_t>(step.node->inputs[i].node)] = true;
    }
  }
}

bool FetchPlan::Computes(const Node& node) const {
  return node.op != "NoOp" && !IsView(store_.graph, node);
}

// Refuses what the system would end the process for, naming the node with the largest value.
void FetchPlan::RequireMemory(const ValuePlan& values, const MemoryPlan& memory) const {
  constexpr double kShare = 0.9;  // The share of what is there: kernels need some memory, too.
  double bytes = 0;
  for (size_t i = store_.buffers.size(); i < memory.buffer_bytes.size(); ++i) {
    bytes += static_cast<double>(memory.buffer_bytes[i]);
  }
  const double most = kShare * static_cast<double>(AvailableMemory());
  if (bytes <= most) return;
  const auto size_of = [&](const auto& entry) {
    return values.values[static_cast<size_t>(entry.second)].bytes;
  };
  const auto largest =
      std::max_element(values.value_of.begin(), values.value_of.end(),
                       [&](const auto& a, const auto& b) { return size_of(a) < size_of(b); });
  FailNode(store_.graph.At(largest->first.node),
           "its result takes " + std::to_string(size_of(*largest)) +
               " bytes, the largest of values that take " + std::to_string(std::llround(bytes)),
           std::to_string(std::llround(most)) + " bytes, most of what this machine has left");
}

// Output tensors of all steps: views of variables and inputs where the op works in place, else
// memory from the store.
void FetchPlan::AssignBuffers(const std::vector<Output>& fetches) {
  std::vector<const Node*> nodes;
  for (const Step& step : steps_) nodes.push_back(step.node);
  const ValuePlan plan = PlanValues(store_.graph, nodes, task_of_, tasks_, fetches,
                                    store_.kernels.Backend() == KernelBackend::kFast);
  std::vector<size_t> existing;
  for (const Tensor& buffer : store_.buffers) existing.push_back(buffer.Bytes());
  const MemoryPlan memory = PlanMemory(tasks_, plan.values, existing);
  RequireMemory(plan, memory);
  AddRunBuffers(&store_.buffers, memory.buffer_bytes);
  for (const auto& [output, value] : plan.value_of) {
    if (IsView(store_.graph, store_.graph.At(output.node)))
      continue;  // Connect() makes these views.
    const int buffer = memory.buffer_of[static_cast<size_t>(value)];
    const OutputInfo& info = store_.graph.Info(output);
    StepOf(output.node)
        .outputs.push_back(
            store_.buffers[static_cast<size_t>(buffer)].Prefix(info.shape, info.type));
  }
}

const Tensor* FetchPlan::TensorOf(Output output) {
  if (IsSource(store_.graph.At(output.node).op)) {
    return &store_.sources[static_cast<size_t>(output.node)];
  }
  return &StepOf(output.node).outputs[static_cast<size_t>(output.index)];
}

// In the order of the graph, so that the inputs of a view have their tensors.
void FetchPlan::Connect(const std::vector<Output>& fetches) {
  for (Step& step : steps_) {
    for (const Output& input : step.node->inputs) step.inputs.push_back(TensorOf(input));
    const std::vector<int>& writes = FindOp(step.node->op)->writes;
    if (!writes.empty()) {
      step.outputs.push_back(*step.inputs[static_cast<size_t>(writes[0])]);
    } else if (IsView(store_.graph, *step.node)) {
      const Output owner = BufferOwner(store_.graph, step.node->inputs[0]);
      const bool fed = store_.graph.At(owner.node).op == "Placeholder";
      if (fed) views_.push_back({&step, step.inputs[0], FirstElement(store_.graph, *step.node)});
      step.outputs.push_back(fed ? Tensor()
                                 : step.inputs[0]->Reshaped(step.node->outputs[0].shape));
    }
  }
  for (const Output& fetch : fetches) {
    fetched_.push_back(fetch.index == -1 ? nullptr : TensorOf(fetch));
    fetched_nodes_.push_back(fetch.node);
  }
}

void FetchPlan::UpdateViews() {
  for (const View& view : views_) {
    const OutputInfo& info = view.step->node->outputs[0];
    view.step->outputs[0] = Tensor::View(info.shape, view.source->Type());
    view.step->outputs[0].ViewInto(*view.source, view.first);
  }
}

bool FetchPlan::PackPiece(int piece) {
  const PackingPiece& now = packing_[static_cast<size_t>(piece)];
  now.kernel->PackPiece(store_.pools, now.piece);
  packed_ = static_cast<size_t>(piece) + 1;
  return packed_ < packing_.size();
}

bool FetchPlan::RunPiece(TaskAtPiece next) {
  Step& step = steps_[static_cast<size_t>(next.task)];
  if (step.kernel == nullptr) return false;
  store_.pools.SetRunningOp(&step.node->op);
  KernelContext context{step.inputs, step.outputs, store_.pools};
  step.kernel->ComputePiece(context, next.piece);
  return next.piece + 1 < step.kernel->Pieces();
}

std::vector<NodeTime> FetchPlan::RunInOrder() {
  while (packed_ < packing_.size()) PackPiece(static_cast<int>(packed_));
  std::vector<NodeTime> times;
  times.reserve(steps_.size());
  auto before = std::chrono::steady_clock::now();
  for (int task : tasks_.Order()) {
    TaskAtPiece next{task, 0};
    while (RunPiece(next)) ++next.piece;
    const auto after = std::chrono::steady_clock::now();
    times.push_back({steps_[static_cast<size_t>(task)].node, after - before});
    before = after;
  }
  return times;
}

std::vector<Tensor> FetchPlan::FetchCopies() const {
  std::vector<Tensor> copies;
  for (const Tensor* tensor : fetched_) {
    copies.push_back(tensor == nullptr ? Tensor() : tensor->Clone());
  }
  return copies;
}

}  // namespace cosched
