#include "experiments/watch/cell_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "policies/event_text.h"

namespace cosched {
namespace {

// A step that takes long: its speed is looked for in as many seconds at most.
constexpr double kLongestSpeedWindow_s = 60;
// Decisions that moved nothing, between two that did, of which one frame looks at no more.
constexpr size_t kMostLookedAt = 5000;
// Decisions among which that of a grant is looked for.
constexpr std::ptrdiff_t kLatest = 50;

// "job-arrived 3" in words.
std::string EventWords(std::string_view event) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kOfJobs{
      {{"job-arrived ", "came"},
       {"job-finished ", "ended"},
       {"job-failed ", "failed"},
       {"grant-settled ", "has its cores"}}};
  for (const auto& [name, words] : kOfJobs)
    if (event.starts_with(name)) return fmt::format("job {} {}", event.substr(name.size()), words);
  std::string words(event.starts_with("objective-changed") ? "objective changed" : event);
  std::ranges::replace(words, '-', ' ');
  return words;
}

// Cores in the text of a decision: "0-1", "0.5@1" (a share of a node) or "pause".
struct Wanted {
  double amount = 0;
  std::string where;
  bool shares = false;  // Of a node's cores, and `where` is the node.
};

Wanted WantedIn(std::string_view text) {
  text = text.substr(0, text.find('/'));  // Requests that may be open.
  if (text == kPauseText) return {};
  if (const size_t at = text.find('@'); at != std::string_view::npos) {
    double amount = 0;
    std::from_chars(text.data(), text.data() + at, amount);
    return {amount, fmt::format("node {}", text.substr(at + 1)), true};
  }
  const std::optional<CpuSet> cores = CpuSet::Parse(text);
  return {cores ? cores->Count() : 0.0, std::string(text)};
}

const char* CoresWord(double amount) { return amount == 1 ? "core" : "cores"; }

std::string ThreadsText(int threads) {
  return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
}

}  // namespace

CellStory::StoryJob& CellStory::JobOf(int64_t id) {
  const auto [place, is_new] = index_.try_emplace(id, jobs_.size());
  if (is_new) jobs_.push_back({.id = id});
  return jobs_[place->second];
}

const CellStory::StoryJob* CellStory::Find(int64_t id) const {
  const auto place = index_.find(id);
  return place == index_.end() ? nullptr : &jobs_[place->second];
}

ServiceStory& CellStory::ServiceOf(std::string_view name) {
  const auto place = services_.find(name);
  return place != services_.end() ? place->second : services_[std::string(name)];
}

void CellStory::Saw(double time) { end_ = std::max(end_, time); }

void CellStory::Add(const SubmittedRow& row) {
  StoryJob& job = JobOf(row.job_id);
  job.workload = row.workload;
  job.serves = row.serves != 0;
  if (row.steps > 0 && !job.serves) job.all_steps = row.steps;
}

void CellStory::Add(const GrantRow& row) {
  StoryJob& job = JobOf(row.job_id);
  has_grants_ = true;
  Saw(row.time);
  if (row.kind == "submitted") {
    if (!job.came) job.came = row.time;
  } else if (row.kind == "granted") {
    if (!job.started) job.started = row.time;
    job.holds.push_back({row.time, row.cores, row.amount, row.threads});
  } else if (row.kind == "released") {
    job.ended = row.time;
  }
}

void CellStory::Add(const JobRow& row) {
  StoryJob& job = JobOf(row.job_id);
  job.workload = row.workload;
  job.came = row.submission_time;
  if (row.starting_time) {
    job.started = *row.starting_time;
    if (!has_grants_ && job.samples.empty())
      job.holds.push_back({*row.starting_time, row.allocated_resources,
                           static_cast<double>(row.allocated_resources.Count()), row.threads});
  }
  job.ended = row.finish_time;
  job.lost = row.state == "failed" || row.state == "rejected" || row.state == "cancelled";
  if (!job.all_steps && row.steps > 0 && row.state == "finished") job.all_steps = row.steps;
  Saw(row.finish_time);
}

CellStory::Hold CellStory::FromRow(const SampleRow& row) {
  return {row.time, row.granted_cores, row.amount, row.granted};
}

void CellStory::Add(const SampleRow& row) {
  StoryJob& job = JobOf(row.job_id);
  job.samples.push_back({row.time, row.steps, row.images, row.runnable_threads});
  if (!has_grants_) job.samples.back().held = FromRow(row);
  Saw(row.time);
}

// Rows are by when their grants settled.
void CellStory::Add(const DecisionRow& row) {
  auto place = decisions_.end();
  while (place != decisions_.begin() && (place - 1)->number > row.decision) --place;
  decisions_.insert(place,
                    {row.decision, row.time, std::string(row.event), std::string(row.allocation)});
  Saw(row.time);
}

void CellStory::Add(const RequestRow& row) {
  const double over = ServiceOf(row.service).Add(row);
  Saw(over);
  if (!row.job_id) return;
  StoryJob& job = JobOf(*row.job_id);
  job.serves = true;
  job.all_steps.reset();
  if (row.state == "served") InsertByTime(over, &job.answers);
}

void CellStory::Add(const QueueRow& row) {
  ServiceOf(row.service).Add(row);
  Saw(row.time);
}

const CellStory::Hold* CellStory::HoldAt(const StoryJob& job, double time) {
  const auto later = std::ranges::upper_bound(job.holds, time, {}, &Hold::time);
  if (later != job.holds.begin()) return &*(later - 1);
  if (!job.holds.empty()) return nullptr;
  const Sample* const sample = SampleAt(job, time);
  return sample != nullptr ? &sample->held : nullptr;
}

// A job's first sample counts from its start.
const CellStory::Sample* CellStory::SampleAt(const StoryJob& job, double time) {
  if (job.samples.empty()) return nullptr;
  const auto later = std::ranges::upper_bound(job.samples, time, {}, &Sample::time);
  return later == job.samples.begin() ? &job.samples.front() : &*(later - 1);
}

// The mean of the samples since then, or else the latest one.
std::optional<double> CellStory::RunnableAt(const StoryJob& job, double time, double since) {
  const Sample* const latest = SampleAt(job, time);
  if (latest == nullptr) return std::nullopt;
  double sum = latest->runnable, count = 1;
  for (const Sample* at = latest; at != &job.samples.front() && (at - 1)->time >= since; ++count)
    sum += (--at)->runnable;
  return sum / count;
}

void CellStory::TellSpeed(const StoryJob& job, double time, TenantMoment* tenant) {
  if (job.serves) {
    tenant->unit = SpeedUnit::kRequests;
    const double window = std::min(kSpeedWindow_s, time - job.started.value_or(0));
    const size_t recent =
        CountUntil(job.answers, time) - CountUntil(job.answers, time - kSpeedWindow_s);
    if (window > 0) tenant->per_second = static_cast<double>(recent) / window;
    return;
  }
  const auto later = std::ranges::upper_bound(job.samples, time, {}, &Sample::time);
  if (later == job.samples.begin()) return;
  const Sample& now = *(later - 1);
  tenant->steps = now.steps;
  const Sample begin = {.time = job.started.value_or(0)};
  const Sample* before = &begin;
  for (auto at = later - 1; at != job.samples.begin();) {
    --at;
    before = &*at;
    const double window = now.time - at->time;
    const bool enough = window >= kSpeedWindow_s && at->steps < now.steps;
    if (enough || window >= kLongestSpeedWindow_s) break;
    before = &begin;
  }
  const double window = now.time - before->time;
  if (window <= 0 || now.steps == 0) return;
  const bool images = now.images > 0;
  tenant->unit = images ? SpeedUnit::kImages : SpeedUnit::kSteps;
  const int64_t done = images ? now.images - before->images : now.steps - before->steps;
  tenant->per_second = static_cast<double>(done) / window;
}

void CellStory::TellTenant(const StoryJob& job, double time, size_t most_waiting,
                           CellMoment* moment) const {
  TenantMoment tenant{.job = job.id, .program = job.workload, .all_steps = job.all_steps};
  const Hold* const hold = HoldAt(job, time);
  if (hold == nullptr) {
    tenant.since = job.came.value_or(0);
    if (static_cast<size_t>(moment->waiting++) < most_waiting) moment->tenants.push_back(tenant);
    return;
  }
  tenant.since = job.started.value_or(hold->time);
  tenant.cores = hold->cores;
  tenant.amount = hold->amount;
  tenant.threads = hold->threads;
  tenant.state = hold->cores.Empty() ? TenantState::kPaused : TenantState::kRuns;
  ++(hold->cores.Empty() ? moment->paused : moment->running);
  moment->granted |= hold->cores;
  TellSpeed(job, time, &tenant);
  tenant.runnable = RunnableAt(job, time, std::max(hold->time, time - kSpeedWindow_s));
  if (tenant.runnable) moment->runnable = moment->runnable.value_or(0) + *tenant.runnable;
  moment->tenants.push_back(std::move(tenant));
}

// what: of the decision's text. Cores that stay may have been granted for their threads' sake.
std::string CellStory::MoveOf(const StoryJob* job, double time, int64_t id,
                              const std::string& what) {
  if (what == kRejectText) return fmt::format("job {} is rejected", id);
  const Wanted wanted = WantedIn(what);
  const Hold *before = nullptr, *after = nullptr;  // What it had until then, and got.
  if (job != nullptr) {
    const auto at = std::ranges::lower_bound(job->holds, time, {}, &Hold::time);
    if (at != job->holds.begin()) before = &*(at - 1);
    // It may have to pause, or to do with fewer, until others have left its new cores.
    const auto got = std::find_if(at, job->holds.end(), [&wanted](const Hold& hold) {
      return hold.amount == wanted.amount &&
             (wanted.shares || hold.cores.ToString() == wanted.where);
    });
    if (got != job->holds.end()) after = &*got;
  }
  if (wanted.amount == 0) return fmt::format("job {} pauses", id);
  // Threads that are as many as the cores need no words.
  const bool differ = after != nullptr && after->threads != wanted.amount;
  if (before == nullptr || before->amount == 0) {
    return fmt::format("job {} {} on {}{}", id, before == nullptr ? "starts" : "goes on",
                       wanted.where, differ ? ", " + ThreadsText(after->threads) : "");
  }
  const bool resized = after != nullptr && after->threads != before->threads;
  const std::string threads =
      resized ? fmt::format("{} -> {}", before->threads, ThreadsText(after->threads)) : "";
  const std::string also = resized && differ ? ", " + threads : "";
  if (before->amount != wanted.amount) {
    return fmt::format("job {}: {} -> {} {}{}", id, before->amount, wanted.amount,
                       CoresWord(wanted.amount), also);
  }
  const bool moved = wanted.shares ? after != nullptr && after->cores != before->cores
                                   : before->cores.ToString() != wanted.where;
  if (moved) return fmt::format("job {} moves to {}{}", id, wanted.where, also);
  return resized ? fmt::format("job {}: {}, still on {}", id, threads, wanted.where)
                 : fmt::format("job {} keeps {}", id, wanted.where);
}

std::string CellStory::MovesOf(const StoryDecision& decision) const {
  std::string moves;
  for (const auto& [allocated, what] : ParseAllocation(decision.allocation)) {
    if (!moves.empty()) moves += "; ";
    moves += MoveOf(Find(allocated.value), decision.time, allocated.value, std::string(what));
  }
  return moves;
}

// A decision's row comes when all its grants have settled: grants of whole cores, in a cell that
// runs, which none of the latest rows tells of.
std::optional<DecisionMoment> CellStory::Untold(double time) const {
  const auto later = std::ranges::upper_bound(decisions_, time, {}, &StoryDecision::time);
  const auto first = later - std::min<std::ptrdiff_t>(later - decisions_.begin(), kLatest);
  const double since = first == decisions_.begin() ? 0 : first->time;
  StoryDecision untold;
  untold.time = time;
  for (const StoryJob& job : jobs_) {
    const Hold* const hold = job.holds.empty() ? nullptr : HoldAt(job, time);
    if (hold == nullptr || hold->time < since || hold->amount != hold->cores.Count()) continue;
    const std::string cores =
        hold->cores.Empty() ? std::string(kPauseText) : hold->cores.ToString();
    const std::string word = fmt::format(" {}={} ", job.id, cores);
    const auto tells = [&word](const StoryDecision& decision) {
      return fmt::format(" {} ", decision.allocation).find(word) != std::string::npos;
    };
    if (std::any_of(first, later, tells)) continue;
    untold.time = std::min(untold.time, hold->time);
    untold.allocation += word.substr(1);
  }
  if (untold.allocation.empty()) return std::nullopt;
  return DecisionMoment{untold.time, "being carried out", MovesOf(untold)};
}

void CellStory::TellDecisions(double time, size_t most, CellMoment* moment) const {
  const auto later = std::ranges::upper_bound(decisions_, time, {}, &StoryDecision::time);
  if (!whole_) {
    if (auto untold = Untold(time)) moment->decisions.push_back(std::move(*untold));
  }
  size_t looked_at = 0;
  for (auto at = later; at != decisions_.begin() && moment->decisions.size() < most;) {
    --at;
    DecisionMoment told{at->time, EventWords(at->event), MovesOf(*at)};
    if (!told.moves.empty()) {
      moment->decisions.push_back(std::move(told));
    } else if (looked_at == 0) {
      moment->asked = std::move(told);
    }
    if (++looked_at > kMostLookedAt) return;
  }
}

CellMoment CellStory::At(double time, size_t most_decisions, size_t most_waiting) const {
  CellMoment moment{.time = time};
  for (const StoryJob& job : jobs_) {
    const std::optional<double> came = job.came ? job.came : job.started;
    if (came && *came > time) continue;
    ++moment.came;
    if (job.ended && *job.ended <= time) {
      ++moment.ended;
      moment.lost += job.lost ? 1 : 0;
    } else {
      TellTenant(job, time, most_waiting, &moment);
    }
  }
  std::ranges::stable_sort(moment.tenants, {}, &TenantMoment::state);
  for (const auto& [name, service] : services_) {
    moment.services.push_back(service.At(time, whole_));
    moment.services.back().name = name;
  }
  TellDecisions(time, most_decisions, &moment);
  return moment;
}

}  // namespace cosched
