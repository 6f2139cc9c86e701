#include "experiments/records/decision_log.h"

#include <algorithm>
#include <optional>

#include "policies/event_text.h"

namespace cosched {
namespace {

double WrittenMicroseconds(Duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

// The jobs of an allocation whose cores change; a rejected job has nothing to settle.
std::set<JobId> JobsToSettle(const std::string& allocation) {
  std::set<JobId> jobs;
  for (const auto& [job, what] : ParseAllocation(allocation))
    if (what != kRejectText) jobs.insert(job);
  return jobs;
}

}  // namespace

DecisionLog::DecisionLog(const std::filesystem::path& cell, bool gzip, size_t buffer)
    : file_(cell, gzip, buffer) {}

void DecisionLog::Add(TimePoint time, int64_t decision, const std::string& event,
                      const std::string& allocation, Duration decision_time) {
  Entry entry{time, event, allocation, decision_time, JobsToSettle(allocation)};
  for (const JobId job : entry.pending) {
    Overtake(job);
    pending_in_[job] = decision;
  }
  WriteIfComplete(open_.insert_or_assign(decision, std::move(entry)).first);
}

void DecisionLog::Settled(JobId job, int64_t decision, Duration since) {
  const auto entry = open_.find(decision);
  if (entry == open_.end() || entry->second.pending.erase(job) == 0) return;
  pending_in_.erase(job);
  entry->second.settled = true;
  entry->second.settle = std::max(entry->second.settle, since);
  WriteIfComplete(entry);
}

void DecisionLog::Ended(JobId job) { Overtake(job); }

void DecisionLog::Finish() {
  for (auto& [decision, entry] : open_) {
    entry.overtaken = true;
    Write(decision, entry);
  }
  open_.clear();
  pending_in_.clear();
  file_.Sync();
}

void DecisionLog::Overtake(JobId job) {
  const auto pending = pending_in_.find(job);
  if (pending == pending_in_.end()) return;
  const auto entry = open_.find(pending->second);
  pending_in_.erase(pending);
  entry->second.pending.erase(job);
  entry->second.overtaken = true;
  WriteIfComplete(entry);
}

void DecisionLog::WriteIfComplete(Entries::iterator entry) {
  if (!entry->second.pending.empty()) return;
  Write(entry->first, entry->second);
  open_.erase(entry);
}

void DecisionLog::Write(int64_t decision, const Entry& entry) {
  const bool has_settled = entry.settled && !entry.overtaken;
  file_.Write(
      {.decision = decision,
       .time = entry.time,
       .event = entry.event,
       .allocation = entry.allocation,
       .decision_us = WrittenMicroseconds(entry.decision_time),
       .settle_us = has_settled ? std::optional(WrittenMicroseconds(entry.settle)) : std::nullopt});
}

}  // namespace cosched
