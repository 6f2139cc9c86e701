#include "engine/session/session.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/graph/write_order.h"
#include "engine/pool/run_on_worker.h"
#include "engine/session/cost.h"
#include "engine/session/executor.h"
#include "engine/session/fetch_plan.h"

namespace cosched {
namespace {

[[noreturn]] void Fail(const std::string& key, const std::string& problem,
                       const std::string& allowed = "") {
  InputErrorDetails details;
  details.key = key;
  details.problem = problem;
  details.allowed = allowed;
  throw InputError(std::move(details));
}

std::string Describe(const Shape& shape, DataType type) {
  return NameOf(type) + (" " + shape.ToString());
}

// Refuses a value that is not what the node holds.
void CheckValue(const std::string& key, const OutputInfo& expected, const Tensor& value) {
  const bool fits =
      !value.IsEmpty() && value.GetShape() == expected.shape && value.Type() == expected.type;
  if (fits) return;
  Fail(key, value.IsEmpty() ? "an empty tensor" : Describe(value.GetShape(), value.Type()),
       Describe(expected.shape, expected.type));
}

// Threads that are bound take no core before the caller says which are its own.
std::unique_ptr<ThreadPools> NewPools(const SessionOptions& options) {
  if (options.pools != nullptr) return nullptr;
  const Split capacity = {options.inter_op_parallelism_threads,
                          options.intra_op_parallelism_threads};
  auto pools =
      std::make_unique<ThreadPools>(capacity, options.binding, options.topology, options.waiting);
  if (options.binding == ThreadPools::Binding::kNone)
    pools->Resize(CpuSet::Range(0, capacity.inter + capacity.intra - 2), capacity);
  return pools;
}

}  // namespace

struct Session::Impl {
  Impl(const Graph& graph, const SessionOptions& options);

  NodeId VariableId(const std::string& name) const;
  using Slices = FetchPlan::Slices;
  using Dividing = FetchPlan::Dividing;
  using Plans = std::map<Dividing, std::unique_ptr<FetchPlan>>;

  FetchPlan& PlanFor(const std::vector<std::string>& fetches, const Dividing& dividing);
  // The one that suits the threads that are there now.
  FetchPlan& PlanForThreads(const std::vector<std::string>& fetches);
  Dividing ForThreads() const;
  void FreeConstants(const Plans& all);
  void Feed(const Feeds& feeds, const FetchPlan& plan);
  bool LeavesCores() const;

  // The pools are destroyed first: their workers may still hold loops of the executor.
  std::unique_ptr<Executor> executor;
  std::unique_ptr<SessionStore> store;
  std::map<std::vector<std::string>, Plans> plans;  // By fetches.
  const bool one_list_of_fetches, deterministic;
  bool has_slices = false;  // That threads may compute side by side.
  std::map<std::string, NodeId> variables;
  std::vector<int> fed;  // By node: the run in which it was last fed.
  int runs = 0;
  // Of the machine. Asked once: glibc opens a file of /sys each time.
  const int cpus = static_cast<int>(std::thread::hardware_concurrency());
  std::unique_ptr<ThreadPools> own_pools;  // Null where they are shared.
  ThreadPools& pools;
};

Session::Impl::Impl(const Graph& graph, const SessionOptions& options)
    : one_list_of_fetches(options.one_list_of_fetches),
      deterministic(options.deterministic),
      own_pools(NewPools(options)),
      pools(own_pools ? *own_pools : *options.pools) {
  CHECK(graph.IsBuilt()) << "Graph::Build() comes before the session";
  executor = std::make_unique<Executor>(&pools.inter());
  store = std::make_unique<SessionStore>(SessionStore{graph,
                                                      pools,
                                                      options.piece_time,
                                                      options.rates,
                                                      WriteOrder(graph),
                                                      {},
                                                      KernelStore(options.backend),
                                                      {}});
  store->sources.resize(static_cast<size_t>(graph.Size()));
  fed.assign(static_cast<size_t>(graph.Size()), 0);
  for (const Node& node : graph.Nodes()) {
    if (node.turn > 1 && pools.Capacity().inter > 1) has_slices = true;
    Tensor& value = store->sources[static_cast<size_t>(node.id)];
    if (node.op == "Const") value = GetAttribute<Tensor>(node, "value");
    if (node.op != "VariableV2") continue;
    value = GetAttribute<Tensor>(node, "initial").Clone();
    variables[node.name] = node.id;
  }
  pools.OnWorkersAdded([this] { executor->Nudge(); });
}

NodeId Session::Impl::VariableId(const std::string& name) const {
  const auto found = variables.find(name);
  if (found == variables.end()) Fail("variable \"" + name + "\"", "the graph has no such variable");
  return found->second;
}

FetchPlan& Session::Impl::PlanFor(const std::vector<std::string>& fetches,
                                  const Dividing& dividing) {
  CHECK(!one_list_of_fetches || plans.empty() || plans.contains(fetches))
      << "a second list of fetches";
  const auto make = [&](const Dividing& other) {
    return std::make_unique<FetchPlan>(store.get(), fetches, other);
  };
  const auto known = plans.find(fetches);
  if (known == plans.end() && one_list_of_fetches && deterministic) {
    Plans all;  // That there will be.
    all[{Slices::kSideBySide}] = make({Slices::kSideBySide});
    if (has_slices) all[{Slices::kInTurn}] = make({Slices::kInTurn});
    FreeConstants(all);
    return *plans.emplace(fetches, std::move(all)).first->second.at(dividing);
  }
  if (known != plans.end() && known->second.contains(dividing)) return *known->second.at(dividing);
  auto plan = make(dividing);  // Or throws: then nothing is kept.
  return *(plans[fetches][dividing] = std::move(plan));
}

Session::Impl::Dividing Session::Impl::ForThreads() const {
  Dividing dividing;
  if (has_slices && pools.Current().inter <= 1) dividing.slices = Slices::kInTurn;
  const int threads = deterministic ? 0 : pools.ThreadsAtANode();
  if (threads > 0) {
    const auto rounded = static_cast<int>(std::bit_ceil(static_cast<unsigned>(threads)));
    dividing.threads = std::min(rounded, pools.Capacity().intra);
  }
  return dividing;
}

FetchPlan& Session::Impl::PlanForThreads(const std::vector<std::string>& fetches) {
  return PlanFor(fetches, ForThreads());
}

// Constants that only kernels read which have taken what they need of them.
void Session::Impl::FreeConstants(const Plans& all) {
  std::vector<bool> read(store->sources.size(), false);
  for (const auto& [dividing, plan] : all) plan->AddReads(&read);
  for (const Node& node : store->graph.Nodes()) {
    const auto id = static_cast<size_t>(node.id);
    if (node.op == "Const" && !read[id]) store->sources[id] = Tensor();
  }
}

void Session::Impl::Feed(const Feeds& feeds, const FetchPlan& plan) {
  ++runs;
  for (const auto& [name, value] : feeds) {
    const NodeId id = store->graph.Find(name);
    const std::string key = "feed \"" + name + "\"";
    if (id == -1 || store->graph.At(id).op != "Placeholder") {
      Fail(key, "the graph has no such placeholder");
    }
    CheckValue(key, store->graph.Info({id, 0}), value);
    if (fed[static_cast<size_t>(id)] == runs) Fail(key, "fed twice");
    fed[static_cast<size_t>(id)] = runs;
    store->sources[static_cast<size_t>(id)] = value;
  }
  for (NodeId id : plan.Placeholders()) {
    if (fed[static_cast<size_t>(id)] != runs) {
      Fail("placeholder \"" + store->graph.At(id).name + "\"",
           "is not fed, but the fetches need it");
    }
  }
}

// Whether a caller who looks for the end of a run takes no core from its threads (or from one only,
// which it yields to).
bool Session::Impl::LeavesCores() const {
  const int threads = ThreadsOf(pools.Current());
  return threads <= 1 || threads < cpus;
}

Session::Session(const Graph& graph, SessionOptions options)
    : impl_(std::make_unique<Impl>(graph, options)) {}

Session::~Session() = default;

std::vector<Tensor> Session::Run(const Feeds& feeds, const std::vector<std::string>& fetches) {
  FetchPlan& plan = impl_->PlanForThreads(fetches);
  impl_->Feed(feeds, plan);
  plan.UpdateViews();
  if (ReadyQueue* packing = plan.Packing()) {
    impl_->executor->Run(
        packing, [&plan](TaskAtPiece next) { return plan.PackPiece(next.piece); }, 0,
        Executor::Kind::kNotCounted);
  }
  const bool looks = plan.IsBrief() || impl_->LeavesCores();
  impl_->executor->Run(
      &plan.Queue(), [&plan](TaskAtPiece next) { return plan.RunPiece(next); },
      looks ? kBriefCost : 0);
  return plan.FetchCopies();
}

std::vector<NodeTime> Session::RunInOrder(const Feeds& feeds,
                                          const std::vector<std::string>& fetches) {
  FetchPlan& plan = impl_->PlanForThreads(fetches);
  impl_->Feed(feeds, plan);
  plan.UpdateViews();
  std::vector<NodeTime> times;
  RunOnWorker(&impl_->pools.inter(), [&] { times = plan.RunInOrder(); });
  return times;
}

double Session::GraphWidth(const std::vector<std::string>& fetches) {
  FetchPlan::Dividing dividing = impl_->ForThreads();
  dividing.slices = FetchPlan::Slices::kSideBySide;
  return impl_->PlanFor(fetches, dividing).Tasks().Width();
}

void Session::Resize(const CpuSet& cores, Split split) { impl_->pools.Resize(cores, split); }

void Session::Resize(const ResizeRequest& request) { impl_->pools.Resize(request); }

void Session::AtNode(int64_t count, const ResizeRequest& request) {
  impl_->executor->AtTask(count, [pools = &impl_->pools, request] { pools->Resize(request); });
}

int64_t Session::NodesStarted() const { return impl_->executor->TasksStarted(); }

int64_t Session::PiecesRun() const { return impl_->executor->PiecesRun(); }

bool Session::Settled() const { return impl_->pools.Settled(); }

Tensor Session::Variable(const std::string& name) const {
  return impl_->store->sources[static_cast<size_t>(impl_->VariableId(name))].Clone();
}

void Session::SetVariable(const std::string& name, const Tensor& value) {
  const NodeId id = impl_->VariableId(name);
  CheckValue("variable \"" + name + "\"", impl_->store->graph.Info({id, 0}), value);
  Tensor& current = impl_->store->sources[static_cast<size_t>(id)];
  std::memcpy(current.Data(), value.Data(), value.Bytes());
}

std::vector<std::string> Session::VariableNames() const {
  std::vector<std::string> names;
  for (const auto& [name, id] : impl_->variables) names.push_back(name);
  return names;
}

uint64_t Session::VariablesHash() const {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const auto& [name, id] : impl_->variables) {
    const Tensor& value = impl_->store->sources[static_cast<size_t>(id)];
    const auto* bytes = static_cast<const unsigned char*>(value.Data());
    for (size_t i = 0; i < value.Bytes(); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  }
  return hash;
}

ThreadPools& Session::Pools() { return impl_->pools; }

}  // namespace cosched
