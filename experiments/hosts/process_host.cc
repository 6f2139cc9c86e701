#include "experiments/hosts/process_host.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "engine/base/check.h"
#include "experiments/hosts/machine_conditions.h"
#include "experiments/hosts/memory_mover.h"
#include "experiments/hosts/process_launcher.h"
#include "experiments/hosts/supervised_device.h"
#include "experiments/hosts/supervised_tenant.h"
#include "experiments/os/foreign_load.h"

namespace cosched {
namespace {

// Often enough that the steps of a fast tenant do not fill its ring.
constexpr Duration kDrainPeriod = std::chrono::milliseconds(100);

timespec ToTimespec(Duration duration) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(duration);
  return {static_cast<time_t>(whole.count()), static_cast<long>((duration - whole).count())};
}

bool IsAbout(const HostEvent& event, JobId job) {
  return std::visit(
      [job](const auto& about) {
        if constexpr (requires { about.job; }) return about.job == job;
        return false;
      },
      event);
}

std::unique_ptr<TenantLauncher> Launcher(const ProcessHost::Options& options) {
  return std::make_unique<ProcessLauncher>(
      options.binary, GroupSettings::For(options.actuator, options.shares, options.quota_period));
}

std::optional<MachineConditions> Watch(const ProcessHost::Options& options) {
  if (options.cores.Empty()) return std::nullopt;
  return std::make_optional<MachineConditions>(options.cores, options.topology);
}

}  // namespace

struct ProcessHost::Impl {
  // Stays when the tenant is gone: the arbiter may not have seen its end yet.
  struct Entry {
    JobId job;
    TenantSpec spec;
    std::unique_ptr<SupervisedTenant> tenant;  // Null before Start and once the process is gone.
    double progress = 0;                       // A gone tenant's.
    bool started = false;
  };

  Impl(Options host_options, std::unique_ptr<TenantLauncher> tenant_launcher);

  Entry& Find(JobId job);
  SupervisedTenant* FindRunning(JobId job);
  void FollowWithMemory(JobId job, const SupervisedTenant& tenant);
  void CollectLast(Entry* entry);
  void CollectLast(std::unique_ptr<SupervisedDevice>* device);
  void AdvanceAll();
  void AdvanceDevices();
  bool HasAnswers() const;  // Not yet taken.
  bool Poll(TimePoint deadline);
  bool HasQuotas() const { return options.shares || options.actuator == Actuator::kQuota; }
  Place Spread(const Place& place) const;
  std::filesystem::path LogOf(const std::string& name) const;

  const Options options;
  const std::optional<MachineConditions> conditions;  // Watched before the clock starts.
  const RealClock clock;
  const Duration epoch;                            // MonotonicNow() at the clock's zero.
  const std::unique_ptr<TenantLauncher> launcher;  // Outlives the tenants.
  MemoryMover memory;
  std::map<JobId, Entry> entries;
  std::map<DeviceId, std::unique_ptr<SupervisedDevice>> devices;  // Null once it is lost.
  std::deque<HostEvent> events;
  std::vector<StepSample> steps;
  std::vector<ResizeSample> resizes;
  std::vector<ActuationSample> actuations;
  std::vector<RequestSample> answered;  // By tenants that are gone; not yet taken.
  std::vector<HoldSample> holds;        // Of devices that are lost; not yet taken.
  Duration used_by_others_children{0};  // By tenants that are gone.
  std::vector<std::string> marks;
  bool rounded = false;                    // The work of some request.
  std::vector<TenantSample> last_samples;  // Gone tenants', not yet taken.
  TimePoint next_drain;
  bool wakes_at_answers = false;
};

ProcessHost::Impl::Impl(Options host_options, std::unique_ptr<TenantLauncher> tenant_launcher)
    : options(std::move(host_options)),
      conditions(Watch(options)),
      epoch(MonotonicNow() - clock.Now().time_since_epoch()),
      launcher(std::move(tenant_launcher)),
      memory(options.topology, options.numa ? *options.numa : NumaMap::Of(options.topology),
             options.memory, &clock) {}

ProcessHost::Impl::Entry& ProcessHost::Impl::Find(JobId job) {
  const auto found = entries.find(job);
  CHECK(found != entries.end()) << "job " << job.value << " was never described";
  return found->second;
}

// Null if its process is gone: its end is known here, though perhaps not yet to the caller.
SupervisedTenant* ProcessHost::Impl::FindRunning(JobId job) {
  Entry& entry = Find(job);
  CHECK(entry.started) << "job " << job.value << " was never started";
  return entry.tenant.get();
}

// With the actuator "quota", whole cores are as much CPU time, anywhere on the machine's.
Place ProcessHost::Impl::Spread(const Place& place) const {
  if (options.actuator != Actuator::kQuota || !place.Owns()) return place;
  return {options.cores, place.amount, place.threads, place.open_requests};
}

// Its latest grant has settled.
void ProcessHost::Impl::FollowWithMemory(JobId job, const SupervisedTenant& tenant) {
  if (memory.Watches() && !tenant.Cores().Empty())
    memory.Settle(job, tenant.Cores(), tenant.Processes(), tenant.MemoryFile());
}

// REQUIRES: the process is gone.
void ProcessHost::Impl::CollectLast(Entry* entry) {
  memory.Forget(entry->job);
  if (entry->tenant->Serves()) entry->tenant->TakeAnswered(&answered);
  entry->tenant->TakeSteps(clock.Now(), &steps);
  entry->tenant->TakeResizes(clock.Now(), &resizes);
  entry->tenant->TakeActuations(&actuations);
  last_samples.push_back(entry->tenant->LastSample(clock.Now()));
  for (std::string& mark : entry->tenant->Marks()) marks.push_back(std::move(mark));
  entry->progress = entry->tenant->Progress();
  used_by_others_children += entry->tenant->UsedByOthersChildren();
  entry->tenant = nullptr;
}

// REQUIRES: the process is gone.
void ProcessHost::Impl::CollectLast(std::unique_ptr<SupervisedDevice>* device) {
  (*device)->TakeAnswered(&answered);
  (*device)->TakeHolds(&holds);
  for (std::string& mark : (*device)->Marks()) marks.push_back(std::move(mark));
  used_by_others_children += (*device)->UsedByOthersChildren();
  *device = nullptr;
}

std::filesystem::path ProcessHost::Impl::LogOf(const std::string& name) const {
  return options.log_directory.empty() ? "" : options.log_directory / (name + ".log");
}

void ProcessHost::Impl::AdvanceDevices() {
  for (auto& [id, device] : devices) {
    if (!device) continue;
    std::optional<HostLostDevice> lost = device->Advance(clock.Now());
    if (!lost) continue;
    CollectLast(&device);
    events.push_back(std::move(*lost));
  }
}

void ProcessHost::Impl::AdvanceAll() {
  AdvanceDevices();
  const bool drain = clock.Now() >= next_drain;
  if (drain) next_drain = clock.Now() + kDrainPeriod;
  for (auto& [job, entry] : entries) {
    if (!entry.tenant) continue;
    if (drain) entry.tenant->TakeSteps(clock.Now(), &steps);
    std::optional<HostEvent> event = entry.tenant->Advance(clock.Now());
    if (!event) continue;
    const bool over =
        std::holds_alternative<HostFinished>(*event) || std::holds_alternative<HostFailed>(*event);
    if (over) CollectLast(&entry);
    if (std::holds_alternative<HostSettled>(*event)) FollowWithMemory(job, *entry.tenant);
    events.push_back(std::move(*event));
  }
}

bool ProcessHost::Impl::HasAnswers() const {
  if (!answered.empty()) return true;
  for (const auto& [id, device] : devices) {
    if (device && device->HasAnswers()) return true;
  }
  return std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
    const auto& tenant = entry.second.tenant;
    return tenant && tenant->Serves() && tenant->HasAnswers();
  });
}

// Sleeps until something may be due. False if the caller is wanted: a signal arrived, or what
// `wake` tells of.
bool ProcessHost::Impl::Poll(TimePoint deadline) {
  std::vector<pollfd> descriptors = {{options.wake, POLLIN, 0}};  // poll skips -1.
  const auto watch = [&descriptors](const std::vector<int>& numbers) {
    for (const int number : numbers) descriptors.push_back({number, POLLIN, 0});
  };
  for (const auto& [id, device] : devices) {
    if (!device) continue;
    watch(device->Descriptors());
    deadline = std::min(deadline, device->NextCheck());
  }
  for (const auto& [job, entry] : entries) {
    if (!entry.tenant) continue;
    watch(entry.tenant->Descriptors());
    deadline = std::min({deadline, entry.tenant->NextCheck(), next_drain});
  }
  const timespec timeout = ToTimespec(std::max(deadline - clock.Now(), Duration(0)));
  const int ready = ppoll(descriptors.data(), descriptors.size(), &timeout, nullptr);
  return ready >= 0 ? descriptors.front().revents == 0 : errno != EINTR;
}

ProcessHost::ProcessHost(const Options& options) : ProcessHost(options, Launcher(options)) {}
ProcessHost::ProcessHost(const Options& options, std::unique_ptr<TenantLauncher> launcher)
    : impl_(std::make_unique<Impl>(options, std::move(launcher))) {}
ProcessHost::~ProcessHost() = default;

void ProcessHost::Describe(JobId job, const TenantSpec& spec) {
  Impl::Entry& entry = impl_->entries[job];
  entry.job = job;
  entry.spec = spec;
}

const Clock& ProcessHost::GetClock() const { return impl_->clock; }

void ProcessHost::AddDevice(const DeviceSpec& device) {
  const auto [entry, added] = impl_->devices.try_emplace(device.id);
  CHECK(added) << "device " << device.name << " is added twice";
  const Options& options = impl_->options;
  const SupervisedDevice::Settings settings{
      .log = impl_->LogOf("device-" + std::to_string(device.id.value)),
      .timeouts = options.timeouts};
  try {
    entry->second = std::make_unique<SupervisedDevice>(device, settings, impl_->launcher.get(),
                                                       impl_->clock.Now(), impl_->epoch);
  } catch (const std::runtime_error& error) {
    impl_->events.push_back(HostLostDevice{device.id, error.what()});
  }
}

void ProcessHost::Start(const Job& job, const Place& place) {
  CHECK(!place.Pauses()) << "job " << job.id.value << " is started on no cores";
  Impl::Entry& entry = impl_->Find(job.id);
  CHECK(!entry.started) << "job " << job.id.value << " is started twice";
  entry.started = true;
  const Options& options = impl_->options;
  const Place spread = impl_->Spread(place);
  const SupervisedTenant::Settings settings{
      .run = options.run,
      .log = impl_->LogOf("tenant-" + std::to_string(job.id.value)),
      .topology = options.topology,
      .has_quota = impl_->HasQuotas(),
      .client = options.client,
      .timeouts = options.timeouts,
      .sample_threads = options.sample_threads};
  try {
    entry.tenant = std::make_unique<SupervisedTenant>(
        job, entry.spec, spread, settings, impl_->launcher.get(), impl_->clock.Now(), impl_->epoch);
    impl_->memory.Grant(job.id, spread.cores);
  } catch (const std::runtime_error& error) {
    impl_->events.push_back(HostFailed{job.id, error.what()});
  }
}

void ProcessHost::Grant(JobId job, const Place& place) {
  CHECK(!place.Pauses()) << "no cores for job " << job.value << ": that is Pause";
  std::erase_if(impl_->events, [job](const HostEvent& event) {
    return std::holds_alternative<HostSettled>(event) && IsAbout(event, job);
  });
  if (SupervisedTenant* tenant = impl_->FindRunning(job)) {
    const Place spread = impl_->Spread(place);
    impl_->memory.Grant(job, spread.cores);
    tenant->Grant(spread, impl_->clock.Now());
  }
}

void ProcessHost::Pause(JobId job) {
  std::erase_if(impl_->events, [job](const HostEvent& event) {
    return std::holds_alternative<HostSettled>(event) && IsAbout(event, job);
  });
  if (SupervisedTenant* tenant = impl_->FindRunning(job)) tenant->Pause(impl_->clock.Now());
}

void ProcessHost::Stop(JobId job) {
  SupervisedTenant* tenant = impl_->FindRunning(job);
  std::erase_if(impl_->events, [job](const HostEvent& event) { return IsAbout(event, job); });
  if (tenant == nullptr) return;
  tenant->Kill();
  impl_->CollectLast(&impl_->Find(job));
}

// A tenant that is gone gets no more, nor does a device that is lost: whoever sends will learn of
// it, and drop what it had.
void ProcessHost::Send(const ServerId& server, const Request& request) {
  if (const auto* id = std::get_if<DeviceId>(&server)) {
    const auto device = impl_->devices.find(*id);
    CHECK(device != impl_->devices.end()) << "device " << id->value << " was never added";
    if (device->second) device->second->Send(request, impl_->clock.Now());
    return;
  }
  if (SupervisedTenant* tenant = impl_->FindRunning(std::get<JobId>(server))) {
    tenant->Send(request, impl_->clock.Now());
    impl_->rounded = impl_->rounded || tenant->Rounds(request.work);
  }
}

void ProcessHost::Drain(JobId job) {
  if (SupervisedTenant* tenant = impl_->FindRunning(job)) tenant->Drain();
}

double ProcessHost::Progress(JobId job) const {
  const Impl::Entry& entry = impl_->Find(job);
  return entry.tenant ? entry.tenant->Progress() : entry.progress;
}

PipelineCounters ProcessHost::Pipeline(JobId job) {
  const SupervisedTenant* tenant = impl_->Find(job).tenant.get();
  return tenant == nullptr ? PipelineCounters() : tenant->Pipeline();
}

void ProcessHost::WakeAtAnswers(bool wanted) { impl_->wakes_at_answers = wanted; }

std::optional<HostEvent> ProcessHost::NextEvent(TimePoint deadline) {
  while (true) {
    impl_->AdvanceAll();
    if (!impl_->events.empty()) {
      HostEvent event = std::move(impl_->events.front());
      impl_->events.pop_front();
      return event;
    }
    if (impl_->wakes_at_answers && impl_->HasAnswers()) return std::nullopt;
    if (impl_->clock.Now() >= deadline || !impl_->Poll(deadline)) return std::nullopt;
  }
}

std::vector<TenantSample> ProcessHost::Sample() {
  std::vector<TenantSample> samples = std::exchange(impl_->last_samples, {});
  for (auto& [job, entry] : impl_->entries) {
    if (!entry.tenant) continue;
    if (auto sample = entry.tenant->Sample(impl_->clock.Now())) samples.push_back(*sample);
  }
  return samples;
}

std::vector<StepSample> ProcessHost::TakeSteps() {
  for (auto& [job, entry] : impl_->entries) {
    if (entry.tenant) entry.tenant->TakeSteps(impl_->clock.Now(), &impl_->steps);
  }
  return std::exchange(impl_->steps, {});
}

std::vector<ResizeSample> ProcessHost::TakeResizes() {
  for (auto& [job, entry] : impl_->entries) {
    if (entry.tenant) entry.tenant->TakeResizes(impl_->clock.Now(), &impl_->resizes);
  }
  return std::exchange(impl_->resizes, {});
}

std::vector<ActuationSample> ProcessHost::TakeActuations() {
  for (auto& [job, entry] : impl_->entries) {
    if (entry.tenant) entry.tenant->TakeActuations(&impl_->actuations);
  }
  return std::exchange(impl_->actuations, {});
}

std::vector<MemoryMove> ProcessHost::TakeMemoryMoves() { return impl_->memory.Take(); }

std::vector<RequestSample> ProcessHost::TakeRequests() {
  for (auto& [job, entry] : impl_->entries) {
    if (entry.tenant && entry.tenant->Serves()) entry.tenant->TakeAnswered(&impl_->answered);
  }
  for (auto& [id, device] : impl_->devices) {
    if (device) device->TakeAnswered(&impl_->answered);
  }
  return std::exchange(impl_->answered, {});
}

std::vector<HoldSample> ProcessHost::TakeHolds() {
  for (auto& [id, device] : impl_->devices) {
    if (device) device->TakeHolds(&impl_->holds);
  }
  return std::exchange(impl_->holds, {});
}

Duration ProcessHost::UsedByOthersChildren() const {
  Duration used = impl_->used_by_others_children;
  for (const auto& [job, entry] : impl_->entries) {
    if (entry.tenant) used += entry.tenant->UsedByOthersChildren();
  }
  for (const auto& [id, device] : impl_->devices) {
    if (device) used += device->UsedByOthersChildren();
  }
  return used;
}

Duration ProcessHost::CpuTime(JobId job) {
  const SupervisedTenant* tenant = impl_->Find(job).tenant.get();
  return tenant == nullptr ? Duration(0) : tenant->CpuTime().value_or(Duration(0));
}

std::vector<std::string> ProcessHost::TakeMarks() {
  if (std::exchange(impl_->rounded, false)) {
    impl_->marks.push_back(
        "requests of a fraction of the network's work were done in whole runs, at least one");
  }
  // The cell is over, and what a child used is known when it is gone.
  for (auto& [id, device] : impl_->devices) {
    if (!device) continue;
    device->Kill();
    impl_->CollectLast(&device);
  }
  std::vector<std::string> marks = std::exchange(impl_->marks, {});
  std::ranges::move(impl_->memory.TakeMarks(), std::back_inserter(marks));
  if (impl_->conditions)
    std::ranges::move(impl_->conditions->Marks(UsedByOthersChildren()), std::back_inserter(marks));
  return marks;
}

TimeByCore ProcessHost::BusyTimes() const { return cosched::BusyTimes(impl_->options.cores); }

}  // namespace cosched
