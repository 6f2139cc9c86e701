#include "engine/gates/rank_worker.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "engine/base/check.h"
#include "engine/base/cpu_set.h"
#include "engine/gates/packed_bytes.h"
#include "engine/gates/stage_objects.h"
#include "engine/gates/worker_steps.h"
#include "engine/pool/lanes.h"

namespace cosched {
namespace {

constexpr auto kBetweenMessages = std::chrono::seconds(1);

// A call that came from rank 0. What the stage emits is kept until the call is over.
class TravelledCall : public StageCall {
 public:
  TravelledCall(CallSent work, ThreadPools* pools) : work_(std::move(work)), pools_(*pools) {}

  void Unpack(const PayloadCodec& codec) {
    batch_.request = work_.request;
    for (CallSent::Item& item : work_.items) {
      batch_.items.push_back({item.ordinal, codec.decode(item.payload, nullptr)});
      std::string().swap(item.payload);
    }
  }
  int64_t Id() const { return work_.call; }
  size_t StageIndex() const { return static_cast<size_t>(work_.stage); }
  void Cancel() { cancelled_ = true; }

  ItemBatch& Batch() override { return batch_; }
  void Emit(Payload payload) override {
    if (made) throw std::logic_error("a second item of a call that emits one");
    made = std::move(payload);
  }
  bool Full() const override { return false; }
  bool Cancelled() const override { return cancelled_; }
  ThreadPools* Pools() override { return &pools_; }
  void AddBusy(std::chrono::nanoseconds time) override { busy += time; }

  std::optional<Payload> made;
  std::chrono::nanoseconds busy{0};

 private:
  CallSent work_;
  ThreadPools& pools_;
  ItemBatch batch_;
  std::atomic<bool> cancelled_{false};
};

CpuSet CoresFrom(const std::vector<int32_t>& cpus) {
  CpuSet cores;
  for (const int32_t cpu : cpus) {
    if (cpu > CpuSet::kMaxCpu) throw LinkError("rank 0 gave a core that there can't be");
    cores.Add(cpu);
  }
  return cores;
}

}  // namespace

struct RankWorker::Impl {
  Impl(RankLink* to_rank_0, std::vector<StageFactory> stages,
       std::vector<std::optional<StageTravel>> how, const PipelineSettings& settings)
      : link(*to_rank_0),
        travels(std::move(how)),
        capacity(settings.capacity),
        objects(std::move(stages)),
        lanes(&mutex, "lane", static_cast<size_t>(settings.capacity.inter)),
        pools(settings.capacity, settings.binding, settings.topology, settings.waiting) {
    CHECK(objects.Stages() == travels.size())
        << travels.size() << " ways to travel for " << objects.Stages() << " stages";
    for (size_t stage = 0; stage < travels.size(); ++stage) {
      if (travels[stage]) wanted_stages.push_back(static_cast<int32_t>(stage));
    }
    for (int lane = 0; lane < settings.capacity.inter; ++lane) {
      steps.push_back(std::make_unique<WorkerSteps>(&pools.inter()));
    }
    pools.OnWorkersAdded([this] { OpenLanes(); });
  }
  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      ending = true;
      for (const auto& [id, call] : calls) call->Cancel();
    }
    // Without a core they would not get to their next piece.
    try {
      if (pools.Current().inter == 0 && !cores.Empty()) pools.Resize(cores, {1, 1});
    } catch (const std::system_error&) {
      // Who never had a thread has no call in the middle.
    }
    lanes.Stop();
  }

  void OpenLanes();
  void Serve(size_t lane);
  void ServeOrFail(size_t lane);
  void Make(const std::shared_ptr<TravelledCall>& call, size_t lane);

  void Take(CallSent work);
  void Take(const CallCancelled& message);
  void Take(RankResized message) { resized = std::move(message); }
  void Resize(const RankResized& message);
  void Take(const RanksClosed& /*message*/) { closed = true; }
  template <typename Other>
  void Take(const Other& /*message*/) {
    throw LinkError("rank 0 sent what only the others may send");
  }
  std::exception_ptr Failure();
  // With the lock. `tells`: that it serves, though it may want nothing.
  void Want(bool tells = false);

  RankLink& link;
  const std::vector<std::optional<StageTravel>> travels;
  const Split capacity;
  std::vector<int32_t> wanted_stages;
  bool closed = false;  // Of the thread that receives, as are:
  CpuSet cores;         // For what is left to do when it ends paused.
  std::optional<RankResized> resized;
  std::function<void(const CpuSet&)> home;

  // They outlive the pools, as a pipeline's do.
  StageObjects objects;
  std::vector<std::unique_ptr<WorkerSteps>> steps;  // By lane.

  std::mutex mutex;                                         // Guards these:
  std::deque<std::shared_ptr<TravelledCall>> ready;         // Not begun.
  std::map<int64_t, std::shared_ptr<TravelledCall>> calls;  // All that have not ended.
  int64_t asked = 0;                                        // Wanted, but not come.
  bool started = false;
  bool ending = false;
  std::exception_ptr failure;  // Of a lane.

  Lanes lanes;
  ThreadPools pools;
};

void RankWorker::Impl::OpenLanes() {
  const std::lock_guard lock(mutex);
  lanes.Open(static_cast<size_t>(pools.Current().inter));
  Want();
}

// As many as lanes are open, those that are here included.
void RankWorker::Impl::Want(bool tells) {
  if (ending || !started) return;
  const int64_t more =
      std::max<int64_t>(0, int64_t{pools.Current().inter} - asked - std::ssize(calls));
  if (more == 0 && !tells) return;
  asked += more;
  link.Send(0, Encode(CallsWanted{.stages = wanted_stages, .calls = static_cast<int32_t>(more)}));
}

void RankWorker::Impl::Serve(size_t lane) {
  std::unique_lock lock(mutex);
  while (!ending && !lanes.Ended()) {
    if (!lanes.IsOpen(lane) || ready.empty()) {
      lanes.Sleep(lane, &lock);
      continue;
    }
    const std::shared_ptr<TravelledCall> call = std::move(ready.front());
    ready.pop_front();
    lock.unlock();
    Make(call, lane);
    lock.lock();
    calls.erase(call->Id());
    Want();
  }
}

// Whoever receives is told; the others end by themselves.
void RankWorker::Impl::ServeOrFail(size_t lane) {
  try {
    Serve(lane);
  } catch (...) {
    {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
    link.Wake();
    throw;
  }
}

std::exception_ptr RankWorker::Impl::Failure() {
  const std::lock_guard lock(mutex);
  return failure;
}

void RankWorker::Impl::Make(const std::shared_ptr<TravelledCall>& call, size_t lane) {
  const StageTravel& travel = *travels[call->StageIndex()];
  std::unique_ptr<Stage> stage;
  std::string answer;
  try {
    call->Unpack(travel.takes);
    stage = objects.Take(call->StageIndex());
    const auto run = [&] { return stage->Run(*call); };
    if (stage->InPieces()) {
      steps[lane]->Run(run);
    } else {
      while (run()) {
      }
    }
    CallFinished finished{.call = call->Id(), .busy = call->busy.count()};
    if (call->made) finished.made = travel.makes.encode(*call->made);
    answer = Encode(finished);
    if (answer.size() > RankLink::kMostBytes) {
      throw std::length_error(std::to_string(answer.size()) +
                              " bytes are too many to be sent to another rank");
    }
  } catch (...) {
    const StageFailure thrown = WhyStageThrew();
    answer = Encode(CallFailed{call->Id(), call->busy.count(), thrown.why, thrown.bad_input});
  }
  call->Batch().items.clear();
  call->made.reset();
  if (stage) objects.GiveBack(call->StageIndex(), std::move(stage));
  link.Send(0, std::move(answer));
}

void RankWorker::Impl::Take(CallSent work) {
  const auto stage = static_cast<size_t>(work.stage);
  if (stage >= travels.size() || !travels[stage])
    throw LinkError("rank 0 sent a call of a stage that does not travel");
  auto call = std::make_shared<TravelledCall>(std::move(work), &pools);
  const std::lock_guard lock(mutex);
  if (asked == 0 || !calls.emplace(call->Id(), call).second)
    throw LinkError("rank 0 sent a call that nobody asked for");
  --asked;
  ready.push_back(std::move(call));
  lanes.WakeOne();
}

void RankWorker::Impl::Take(const CallCancelled& message) {
  const std::lock_guard lock(mutex);
  const auto found = calls.find(message.call);
  if (found != calls.end()) found->second->Cancel();
}

void RankWorker::Impl::Resize(const RankResized& message) {
  const CpuSet given = CoresFrom(message.cpus), elsewhere = CoresFrom(message.home);
  if (!pools.Cores().Empty()) cores = pools.Cores();
  if (!elsewhere.Empty()) cores = elsewhere;
  pools.Resize(given,
               {std::min(message.inter, capacity.inter), std::min(message.intra, capacity.intra)});
  if (home && !elsewhere.Empty()) home(elsewhere);
}

RankWorker::RankWorker(RankLink* link, std::vector<StageFactory> stages,
                       std::vector<std::optional<StageTravel>> travels,
                       const PipelineSettings& settings)
    : impl_(std::make_unique<Impl>(link, std::move(stages), std::move(travels), settings)) {}

RankWorker::~RankWorker() = default;

ThreadPools& RankWorker::Pools() { return impl_->pools; }

void RankWorker::OnHome(std::function<void(const CpuSet& cores)> home) {
  impl_->home = std::move(home);
}

void RankWorker::Run() {
  impl_->lanes.Start([this](size_t lane) { impl_->ServeOrFail(lane); });
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->started = true;
    impl_->Want(/*tells=*/true);
  }
  while (!impl_->closed) {
    if (const std::exception_ptr failure = impl_->Failure()) std::rethrow_exception(failure);
    // Only the last resize counts of those that are there: cores of the others may be somebody
    // else's by now.
    std::optional<RankLink::Received> received =
        impl_->link.Receive(impl_->resized ? std::chrono::seconds(0) : kBetweenMessages);
    if (!received) {
      if (impl_->resized) impl_->Resize(*std::exchange(impl_->resized, std::nullopt));
      continue;
    }
    if (received->from != 0) throw LinkError("a rank spoke to another one that is not rank 0");
    std::visit([this](auto& message) { impl_->Take(std::move(message)); }, received->message);
  }
}

void RefuseToServe(RankLink* link, const StageFailure& why) {
  link->Send(0, Encode(RankFailed{why.why, why.bad_input}));
  try {
    while (true) {
      const std::optional<RankLink::Received> received = link->Receive(kBetweenMessages);
      if (received && std::holds_alternative<RanksClosed>(received->message)) return;
    }
  } catch (const LinkError&) {
    // Rank 0 has ended already, which is all that is waited for.
  }
}

}  // namespace cosched
