#include "experiments/wire/shared_counters.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

#include "engine/base/check.h"

namespace cosched {
namespace {

constexpr uint64_t kMagic = 0x636f736368656431;  // "cosched1"
constexpr uint32_t kVersion = 7;
constexpr auto kRelaxed = std::memory_order_relaxed;

using Count = std::atomic<int64_t>;
static_assert(Count::is_always_lock_free && std::atomic<double>::is_always_lock_free,
              "processes can't share a lock that lives in one of them");

struct Slot {
  Count step, finished, duration, threads;
  std::atomic<double> loss;
};

struct StageSlot {
  Count ready{0}, running{0}, parked{0}, items{0}, bytes{0};
  Count calls{0}, taken{0}, dropped{0}, busy{0}, lasted{0}, waits{0};
};

std::chrono::nanoseconds Nanoseconds(const Count& count) {
  return std::chrono::nanoseconds(count.load(kRelaxed));
}

}  // namespace

struct SharedCounters::Page {
  std::atomic<uint64_t> magic{0};
  std::atomic<uint32_t> version{0};
  // Host and tenant write different cache lines.
  alignas(64) std::atomic<uint64_t> taken{0};
  alignas(64) std::atomic<uint64_t> written{0};
  Count steps{0}, images{0}, active_threads{0}, settled_sequence{0};
  Count grows{0}, shrinks{0}, last_grow{0}, last_shrink{0};
  Count heartbeats{0}, heartbeat{0}, steps_dropped{0};
  Count requests_answered{0};
  alignas(64) Count stages{0};
  Count open{0}, open_requests{0};
  StageSlot stage[kMostStages];
  alignas(64) Slot ring[kRingSize];

  // The records follow the page: of the many that there is room for only those in use are ever
  // touched, and the kernel has no memory for the others.
  WorkRecord* Records() { return reinterpret_cast<WorkRecord*>(this + 1); }
};

std::chrono::nanoseconds MonotonicNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

const size_t SharedCounters::kSize = sizeof(Page) + 2 * kRecords * sizeof(WorkRecord);

SharedCounters::SharedCounters(UniqueFd fd, Page* page) : fd_(std::move(fd)), page_(page) {}

SharedCounters::SharedCounters(SharedCounters&& other) noexcept
    : fd_(std::move(other.fd_)),
      page_(std::exchange(other.page_, nullptr)),
      taken_(other.taken_),
      corrupt_(other.corrupt_) {}

SharedCounters::~SharedCounters() {
  if (page_ != nullptr) munmap(page_, kSize);
}

SharedCounters SharedCounters::Create() {
  UniqueFd fd(memfd_create("cosched-counters", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  void* memory = MAP_FAILED;
  if (fd && ftruncate(fd.get(), kSize) == 0 &&
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  }
  if (memory == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "creating a tenant's counters");
  }
  Page* page = new (memory) Page;
  page->version = kVersion;
  page->magic = kMagic;
  return SharedCounters(std::move(fd), page);
}

SharedCounters SharedCounters::Map(UniqueFd fd) {
  struct stat status {};
  if (fstat(fd.get(), &status) != 0 || static_cast<size_t>(status.st_size) != kSize) {
    throw std::runtime_error("the counters' descriptor is not a page of counters");
  }
  void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "mapping the host's counters");
  }
  SharedCounters counters(std::move(fd), static_cast<Page*>(memory));
  if (counters.page_->magic != kMagic || counters.page_->version != kVersion) {
    throw std::runtime_error("the page of counters is of another version");
  }
  return counters;
}

void SharedCounters::Beat() {
  page_->heartbeat.store(MonotonicNow().count(), kRelaxed);
  page_->heartbeats.fetch_add(1, kRelaxed);
}

void SharedCounters::SetThreads(int active) { page_->active_threads.store(active, kRelaxed); }

void SharedCounters::SetSettled(int64_t sequence) {
  page_->settled_sequence.store(sequence, std::memory_order_release);
}

void SharedCounters::SetResizes(int64_t grows, std::chrono::nanoseconds last_grow, int64_t shrinks,
                                std::chrono::nanoseconds last_shrink) {
  page_->grows.store(grows, kRelaxed);
  page_->last_grow.store(last_grow.count(), kRelaxed);
  page_->shrinks.store(shrinks, kRelaxed);
  page_->last_shrink.store(last_shrink.count(), kRelaxed);
}

void SharedCounters::AddAnswers(int64_t requests) {
  page_->requests_answered.fetch_add(requests, kRelaxed);
}

void SharedCounters::SetPipeline(const PipelineCounters& pipeline) {
  CHECK(pipeline.stages.size() <= kMostStages) << pipeline.stages.size() << " stages";
  for (size_t i = 0; i < pipeline.stages.size(); ++i) {
    const StageCounters& from = pipeline.stages[i];
    StageSlot& to = page_->stage[i];
    to.ready.store(from.ready, kRelaxed);
    to.running.store(from.running, kRelaxed);
    to.parked.store(from.parked, kRelaxed);
    to.items.store(from.items, kRelaxed);
    to.bytes.store(from.bytes, kRelaxed);
    to.calls.store(from.calls, kRelaxed);
    to.taken.store(from.taken, kRelaxed);
    to.dropped.store(from.dropped, kRelaxed);
    to.busy.store(from.busy.count(), kRelaxed);
    to.lasted.store(from.lasted.count(), kRelaxed);
    to.waits.store(from.waits ? 1 : 0, kRelaxed);
  }
  page_->open.store(pipeline.open, kRelaxed);
  page_->open_requests.store(pipeline.open_requests, kRelaxed);
  page_->stages.store(static_cast<int64_t>(pipeline.stages.size()), std::memory_order_release);
}

PipelineCounters SharedCounters::ReadPipeline() const {
  const auto most = static_cast<int64_t>(kMostStages);
  const auto count = static_cast<size_t>(
      std::clamp<int64_t>(page_->stages.load(std::memory_order_acquire), 0, most));
  const auto known = [](const Count& value) { return std::max<int64_t>(value.load(kRelaxed), 0); };
  PipelineCounters pipeline{.open = known(page_->open),
                            .open_requests = known(page_->open_requests)};
  for (size_t i = 0; i < count; ++i) {
    const StageSlot& slot = page_->stage[i];
    pipeline.stages.push_back({.ready = known(slot.ready),
                               .running = known(slot.running),
                               .parked = known(slot.parked),
                               .items = known(slot.items),
                               .bytes = known(slot.bytes),
                               .calls = known(slot.calls),
                               .taken = known(slot.taken),
                               .dropped = known(slot.dropped),
                               .busy = Duration(known(slot.busy)),
                               .lasted = Duration(known(slot.lasted)),
                               .waits = known(slot.waits) != 0});
  }
  return pipeline;
}

void SharedCounters::AddStep(const Step& step, int images) {
  page_->images.fetch_add(images, kRelaxed);
  page_->steps.fetch_add(1, std::memory_order_release);
  const uint64_t written = page_->written.load(kRelaxed);
  if (written - page_->taken.load(std::memory_order_acquire) >= kRingSize) {
    page_->steps_dropped.fetch_add(1, kRelaxed);
    return;
  }
  Slot& slot = page_->ring[written % kRingSize];
  slot.step.store(step.step, kRelaxed);
  slot.finished.store(step.finished.count(), kRelaxed);
  slot.duration.store(step.duration.count(), kRelaxed);
  slot.threads.store(step.threads, kRelaxed);
  slot.loss.store(step.loss, kRelaxed);
  page_->written.store(written + 1, std::memory_order_release);
}

std::span<WorkRecord> SharedCounters::InterRecords() { return {page_->Records(), kRecords}; }

std::span<WorkRecord> SharedCounters::IntraRecords() {
  return {page_->Records() + kRecords, kRecords};
}

std::span<const WorkRecord> SharedCounters::InterRecords() const {
  return {page_->Records(), kRecords};
}

std::span<const WorkRecord> SharedCounters::IntraRecords() const {
  return {page_->Records() + kRecords, kRecords};
}

SharedCounters::Counters SharedCounters::Read() const {
  constexpr int64_t kMostThreads = 1 << 20;  // More is nonsense from a broken tenant.
  Counters counters;
  counters.settled_sequence = page_->settled_sequence.load(std::memory_order_acquire);
  counters.steps = std::max<int64_t>(page_->steps.load(std::memory_order_acquire), 0);
  counters.images = std::max<int64_t>(page_->images.load(kRelaxed), 0);
  counters.active_threads =
      static_cast<int>(std::clamp<int64_t>(page_->active_threads.load(kRelaxed), 0, kMostThreads));
  counters.grows = page_->grows.load(kRelaxed);
  counters.shrinks = page_->shrinks.load(kRelaxed);
  counters.last_grow = Nanoseconds(page_->last_grow);
  counters.last_shrink = Nanoseconds(page_->last_shrink);
  counters.heartbeats = page_->heartbeats.load(kRelaxed);
  counters.heartbeat = Nanoseconds(page_->heartbeat);
  counters.steps_dropped = page_->steps_dropped.load(kRelaxed);
  counters.requests_answered = std::max<int64_t>(page_->requests_answered.load(kRelaxed), 0);
  return counters;
}

bool SharedCounters::TakeSteps(std::vector<Step>* steps) {
  const uint64_t written = page_->written.load(std::memory_order_acquire);
  corrupt_ = corrupt_ || written - taken_ > kRingSize;
  if (corrupt_) return false;
  for (; taken_ != written; ++taken_) {
    const Slot& slot = page_->ring[taken_ % kRingSize];
    Step step;
    step.step = slot.step.load(kRelaxed);
    step.finished = Nanoseconds(slot.finished);
    step.duration = Nanoseconds(slot.duration);
    step.threads = static_cast<int>(slot.threads.load(kRelaxed));
    step.loss = slot.loss.load(kRelaxed);
    steps->push_back(step);
  }
  page_->taken.store(taken_, std::memory_order_release);
  return true;
}

}  // namespace cosched
