#include "workloads/pipelines/increment.h"

#include <algorithm>
#include <ctime>
#include <string>
#include <thread>
#include <utility>

#include "engine/base/error.h"

namespace cosched {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

// After which a call can be resized, paused or cancelled.
constexpr microseconds kLongestPiece{1000};

nanoseconds CpuTimeOfThread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

void Compute(microseconds time) {
  const nanoseconds end = CpuTimeOfThread() + time;
  while (CpuTimeOfThread() < end) {
  }
}

// A piece for each millisecond of what an item takes.
bool AddOne(const IncrementSettings& settings, StageCall& call, int piece) {
  const microseconds all = std::max(settings.work, settings.wait);
  const microseconds left = all - piece * kLongestPiece;
  const microseconds now = std::min(left, kLongestPiece);
  if (settings.wait.count() > 0) {
    std::this_thread::sleep_for(now);
  } else if (now.count() > 0) {
    Compute(now);
  }
  if (left > now) return true;
  Payload item = std::move(call.Batch().items.front().payload);
  ++item.As<int64_t>();
  call.Emit(std::move(item));
  return false;
}

void RequireAtLeast(int64_t least, int64_t value, const char* key) {
  if (value >= least) return;
  throw InputError({.key = key,
                    .problem = std::to_string(value),
                    .allowed = std::to_string(least) + " or more"});
}

}  // namespace

PipelineProgram MakeIncrement(const IncrementSettings& settings) {
  RequireAtLeast(1, settings.stages, "stages");
  RequireAtLeast(0, settings.items, "items");
  RequireAtLeast(0, settings.work.count(), "work_us");
  RequireAtLeast(0, settings.wait.count(), "wait_us");
  RequireAtLeast(1, settings.parallel, "parallel");
  const bool waits = settings.wait.count() > 0;
  if (waits && settings.work.count() > 0) {
    throw InputError({.key = "work_us",
                      .problem = "a stage that waits computes, too",
                      .allowed = "work_us or wait_us"});
  }
  PipelineProgram program;
  program.spec.link = settings.open.link;
  program.spec.open = settings.open.open;
  program.spec.open_max = settings.open.open_max;
  for (int i = 0; i < settings.stages; ++i) {
    program.spec.stages.push_back({.name = "add" + std::to_string(i + 1),
                                   .parallel = waits ? settings.parallel : 0,
                                   .waits = waits});
    program.stages.push_back([settings] {
      return MakeNativeStage(
          [settings](StageCall& call, int piece) { return AddOne(settings, call, piece); });
    });
  }
  program.items = [items = settings.items](int64_t number) {
    std::vector<Payload> payloads;
    for (int64_t i = 0; i < items; ++i) {
      payloads.push_back(Payload::Of(number * items + i, sizeof(int64_t)));
    }
    return payloads;
  };
  return program;
}

}  // namespace cosched
