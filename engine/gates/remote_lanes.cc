#include "engine/gates/remote_lanes.h"

#include <pthread.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/base/thread_start.h"

namespace cosched {
namespace {

constexpr auto kLongestWait = std::chrono::seconds(1);

CallSent Packed(int64_t number, const RemoteCall& call, const StageTravel& travel) {
  CallSent work{.call = number, .stage = call.stage, .request = call.batch->request};
  for (const Item& item : call.batch->items) {
    work.items.push_back({item.ordinal, travel.takes.encode(item.payload)});
  }
  return work;
}

const Payload* OriginOf(const RemoteCall& call) {
  return call.batch->items.empty() ? nullptr : &call.batch->items.front().payload;
}

}  // namespace

RemoteLanes::RemoteLanes(Pipeline* pipeline, RankLink* link,
                         std::vector<std::optional<StageTravel>> travels)
    : pipeline_(*pipeline),
      link_(*link),
      travels_(std::move(travels)),
      wants_(static_cast<size_t>(link->Size())),
      limits_(static_cast<size_t>(link->Size())),
      serves_(static_cast<size_t>(link->Size())) {
  serves_[0] = true;
  CHECK(link->Rank() == 0) << "rank " << link->Rank() << " has no pipeline";
  pipeline_.OnRemoteNews({.work =
                              [this] {
                                if (wanted_) link_.Wake();
                              },
                          .cancelled =
                              [this] {
                                cancelled_ = true;
                                link_.Wake();
                              }});
  try {
    thread_ = StartThread("the thread of remote lanes", [this] { Serve(); });
  } catch (...) {
    pipeline_.OnRemoteNews({});
    throw;
  }
}

RemoteLanes::~RemoteLanes() {
  pipeline_.OnRemoteNews({});
  closing_ = true;
  link_.Wake();
  thread_.join();
  for (int rank = 1; rank < link_.Size(); ++rank) link_.Send(rank, Encode(RanksClosed{}));
}

void RemoteLanes::Resize(int rank, const RankPlace& place) {
  const bool pauses = place.cores.Empty();
  {
    const std::lock_guard lock(mutex_);
    limits_[static_cast<size_t>(rank)] = {.lanes = pauses ? 0 : place.split.inter,
                                          .gives_back = pauses && place.gives_back};
  }
  RankResized message{.inter = place.split.inter, .intra = place.split.intra};
  for (const int cpu : place.cores) message.cpus.push_back(cpu);
  for (const int cpu : place.home) message.home.push_back(cpu);
  link_.Send(rank, Encode(message));
  link_.Wake();
}

void RemoteLanes::WaitForRanks() {
  std::unique_lock lock(mutex_);
  news_.wait(lock, [this] {
    return error_ || std::ranges::all_of(serves_, [](bool serves) { return serves; });
  });
  if (error_) std::rethrow_exception(error_);
}

void RemoteLanes::Serve() {
  pthread_setname_np(pthread_self(), "ranks");
  try {
    while (!closing_) {
      std::optional<RankLink::Received> received = link_.Receive(kLongestWait);
      if (received) {
        const int from = received->from;
        std::visit([&](auto& message) { Handle(from, std::move(message)); }, received->message);
      }
      if (cancelled_.exchange(false)) TellCancelled();
      Withdraw();
      HandOut();
    }
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
      news_.notify_all();
    }
    pipeline_.Break(std::current_exception());
  }
}

void RemoteLanes::Handle(int from, const CallsWanted& message) {
  Wants& wants = wants_[static_cast<size_t>(from)];
  wants.stages.assign(message.stages.begin(), message.stages.end());
  std::ranges::sort(wants.stages);
  const bool travel = std::ranges::all_of(wants.stages, [this](int stage) {
    return static_cast<size_t>(stage) < travels_.size() && travels_[static_cast<size_t>(stage)];
  });
  if (!travel || message.calls > std::numeric_limits<int>::max() - wants.calls) {
    throw LinkError("rank " + std::to_string(from) + " wants calls that it can't have");
  }
  wants.calls += message.calls;
  const std::lock_guard lock(mutex_);
  serves_[static_cast<size_t>(from)] = true;
  news_.notify_all();
}

void RemoteLanes::Handle(int from, CallFinished message) {
  const Away away = TakeBack(from, message.call);
  if (away.withdrawn) return;
  RemoteEnd end{.id = away.call.id, .busy = std::chrono::nanoseconds(message.busy)};
  if (message.made) {
    const StageTravel& travel = *travels_[static_cast<size_t>(away.call.stage)];
    try {
      end.outcome = travel.makes.decode(*message.made, OriginOf(away.call));
    } catch (const std::exception& error) {
      end.outcome = StageFailure{"what rank " + std::to_string(from) +
                                 " made is not readable: " + error.what()};
    }
  }
  pipeline_.EndRemote(std::move(end));
}

void RemoteLanes::Handle(int from, CallFailed message) {
  const Away away = TakeBack(from, message.call);
  if (away.withdrawn) return;
  pipeline_.EndRemote({.id = away.call.id,
                       .outcome = StageFailure{std::move(message.why), message.bad_input},
                       .busy = std::chrono::nanoseconds(message.busy)});
}

void RemoteLanes::Handle(int from, const RankFailed& message) {
  const std::string rank = "rank " + std::to_string(from);
  if (message.bad_input) throw InputError({.key = rank, .problem = message.why});
  throw LinkError(rank + " can't serve: " + message.why);
}

template <typename Other>
void RemoteLanes::Handle(int from, const Other& /*message*/) {
  throw LinkError("rank " + std::to_string(from) + " sent what only rank 0 may send");
}

RemoteLanes::Away RemoteLanes::TakeBack(int from, int64_t call) {
  const auto found = away_.find(call);
  if (found == away_.end() || found->second.rank != from) {
    throw LinkError("rank " + std::to_string(from) + " tells of a call that it does not have");
  }
  return away_.extract(found).mapped();
}

// Of those that it can use; it may have asked for more before it had fewer.
bool RemoteLanes::HasLane(int rank) {
  const auto has =
      std::ranges::count_if(away_, [rank](const auto& entry) { return entry.second.rank == rank; });
  const std::lock_guard lock(mutex_);
  return has < limits_[static_cast<size_t>(rank)].lanes;
}

// A call each in turn: where there are few, no rank gets all of them.
void RemoteLanes::HandOut() {
  bool handed = true;
  while (handed) {
    handed = false;
    for (int rank = 1; rank < link_.Size(); ++rank) {
      Wants& wants = wants_[static_cast<size_t>(rank)];
      if (wants.calls == 0 || !HasLane(rank)) continue;
      // Whoever has news from now on wakes this thread, which has asked before or asks again.
      wanted_ = true;
      if (!HandOne(rank, wants)) continue;
      --wants.calls;
      handed = true;
    }
  }
  wanted_ = std::ranges::any_of(wants_, [](const Wants& wants) { return wants.calls > 0; });
}

// False: there is none for it now.
bool RemoteLanes::HandOne(int rank, const Wants& wants) {
  while (const std::optional<RemoteCall> call = pipeline_.TakeRemote(wants.stages)) {
    std::string why;
    try {
      const StageTravel& travel = *travels_[static_cast<size_t>(call->stage)];
      std::string work = Encode(Packed(next_sent_, *call, travel));
      if (work.size() <= RankLink::kMostBytes) {
        away_[next_sent_++] = {rank, *call};
        link_.Send(rank, std::move(work));
        return true;
      }
      why = std::to_string(work.size()) + " bytes are too many to be sent to another rank";
    } catch (const std::exception& error) {
      why = error.what();
    }
    pipeline_.EndRemote({.id = call->id, .outcome = StageFailure{std::move(why)}});
  }
  return false;
}

void RemoteLanes::TellCancelled() {
  const std::vector<int64_t> cancelled = pipeline_.CancelledRemote();
  for (auto& [number, away] : away_) {
    if (away.told || std::ranges::find(cancelled, away.call.id) == cancelled.end()) continue;
    away.told = true;
    link_.Send(away.rank, Encode(CallCancelled{number}));
  }
}

// What ranks that pause give back.
void RemoteLanes::Withdraw() {
  std::vector<bool> give_back;
  {
    const std::lock_guard lock(mutex_);
    for (const Limit& limit : limits_) give_back.push_back(limit.gives_back);
  }
  for (auto& [number, away] : away_) {
    if (away.withdrawn || !give_back[static_cast<size_t>(away.rank)]) continue;
    away.withdrawn = true;
    if (!std::exchange(away.told, true)) link_.Send(away.rank, Encode(CallCancelled{number}));
    pipeline_.ReturnRemote(away.call.id);
  }
}

}  // namespace cosched
