#include "workloads/pipelines/increment.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "engine/base/error.h"

namespace cosched {
namespace {

// After which a call can be resized, paused or cancelled.
constexpr Duration kLongestPiece = std::chrono::milliseconds(1);

Duration CpuTimeOfThread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void Compute(Duration time) {
  const Duration end = CpuTimeOfThread() + time;
  while (CpuTimeOfThread() < end) {
  }
}

// Of those that do both, the first stage waits, and then every other one.
bool Waits(const IncrementSettings& settings, int stage) {
  if (settings.wait.count() == 0) return false;
  return settings.work.count() == 0 || stage % 2 == 0;
}

// Takes a millisecond of what a call takes. False: that was the last one.
bool TakeTime(Duration all, bool waits, int piece) {
  const Duration left = all - piece * kLongestPiece;
  const Duration now = std::min(left, kLongestPiece);
  if (waits) {
    std::this_thread::sleep_for(now);
  } else if (now.count() > 0) {
    Compute(now);
  }
  return left > now;
}

bool AddOne(Duration all, bool waits, StageCall& call, int piece) {
  if (TakeTime(all, waits, piece)) return true;
  Payload item = std::move(call.Batch().items.front().payload);
  ++item.As<int64_t>();
  call.Emit(std::move(item));
  return false;
}

bool AddUp(Duration all, bool waits, StageCall& call, int piece) {
  if (TakeTime(all, waits, piece)) return true;
  int64_t sum = 0;
  for (Item& item : call.Batch().items) sum += item.payload.As<int64_t>();
  call.Emit(Payload::Of(sum, sizeof sum));
  return false;
}

// The stage behind all others.
void AddMerge(const IncrementSettings& settings, PipelineProgram* program) {
  const Duration all = settings.merge;
  const bool waits = Waits(settings, settings.stages - 1);
  program->spec.stages.push_back({.name = "merge",
                                  .from = {.name = "merge", .hands = Gate::Hands::kWhole},
                                  .parallel = settings.merges,
                                  .waits = waits,
                                  .emits_many = true});
  program->travels.push_back(std::nullopt);
  program->stages.push_back([all, waits] {
    return MakeNativeStage(
        [all, waits](StageCall& call, int piece) { return AddUp(all, waits, call, piece); });
  });
}

void RequireAtLeast(int64_t least, int64_t value, const char* key) {
  if (value >= least) return;
  throw InputError({.key = key,
                    .problem = std::to_string(value),
                    .allowed = std::to_string(least) + " or more"});
}

}  // namespace

int64_t IncrementItems(const IncrementSettings& settings, double work) {
  return std::llround(static_cast<double>(settings.items) * work);
}

PipelineProgram MakeIncrement(const IncrementSettings& settings) {
  RequireAtLeast(1, settings.stages, "stages");
  RequireAtLeast(0, settings.items, "items");
  RequireAtLeast(0, settings.work.count(), "work_ms");
  RequireAtLeast(0, settings.wait.count(), "wait_ms");
  RequireAtLeast(1, settings.parallel, "parallel");
  RequireAtLeast(0, settings.merge.count(), "merge_ms");
  RequireAtLeast(1, settings.merges, "merges");
  PipelineProgram program;
  program.spec.link = settings.open.link;
  program.spec.open = settings.open.open;
  program.spec.open_max = settings.open.open_max;
  for (int i = 0; i < settings.stages; ++i) {
    const bool waits = Waits(settings, i);
    const Duration all = waits ? settings.wait : settings.work;
    program.spec.stages.push_back({.name = "add" + std::to_string(i + 1),
                                   .parallel = waits ? settings.parallel : 0,
                                   .waits = waits});
    // Lanes of stages that wait are rank 0's.
    program.travels.push_back(waits ? std::nullopt
                                    : std::optional(StageTravel{NumberCodec(), NumberCodec()}));
    program.stages.push_back([all, waits] {
      return MakeNativeStage(
          [all, waits](StageCall& call, int piece) { return AddOne(all, waits, call, piece); });
    });
  }
  if (settings.merge.count() > 0) AddMerge(settings, &program);
  program.items = [settings](int64_t number, double work) {
    std::vector<Payload> payloads;
    const int64_t count = IncrementItems(settings, work);
    for (int64_t i = 0; i < count; ++i) {
      payloads.push_back(Payload::Of(number * settings.items + i, sizeof(int64_t)));
    }
    return payloads;
  };
  return program;
}

}  // namespace cosched
