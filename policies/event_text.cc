#include "policies/event_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <type_traits>
#include <variant>

namespace cosched {
namespace {

template <typename Kind>
Event EventAbout(JobId job) {
  if constexpr (std::is_empty_v<Kind>) {
    return Kind{};
  } else {
    return Kind{job};
  }
}

struct NamedEvent {
  std::string_view name;
  Event (*about)(JobId);
};

// In the order of Event's alternatives.
constexpr std::array<NamedEvent, std::variant_size_v<Event>> kEvents{{
    {"job-arrived", EventAbout<JobArrived>},
    {"job-finished", EventAbout<JobFinished>},
    {"job-failed", EventAbout<JobFailed>},
    {"grant-settled", EventAbout<GrantSettled>},
    {"request-window", EventAbout<RequestWindow>},
    {"tick", EventAbout<Tick>},
}};

}  // namespace

std::string_view KindOf(const Event& event) { return kEvents[event.index()].name; }

std::optional<JobId> JobOf(const Event& event) {
  return std::visit(
      [](const auto& about) -> std::optional<JobId> {
        if constexpr (requires { about.job; }) return about.job;
        return std::nullopt;
      },
      event);
}

std::string ToString(const Event& event) {
  const std::optional<JobId> job = JobOf(event);
  return job ? fmt::format("{} {}", KindOf(event), job->value) : std::string(KindOf(event));
}

std::optional<Event> ParseEvent(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(' '));
  for (const NamedEvent& named : kEvents) {
    if (named.name != name) continue;
    const bool has_job = JobOf(named.about(JobId{})).has_value();
    if (!has_job) return text == name ? std::optional(named.about(JobId{})) : std::nullopt;
    JobId job;
    const char* const begin = text.data() + std::min(name.size() + 1, text.size());
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(begin, end, job.value);
    if (error != std::errc() || rest != end) return std::nullopt;
    return named.about(job);
  }
  return std::nullopt;
}

}  // namespace cosched
