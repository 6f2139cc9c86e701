#include "policies/event_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <type_traits>
#include <variant>

#include "engine/base/read_number.h"

namespace cosched {
namespace {

template <typename Kind>
Event EventAbout(int64_t id) {
  if constexpr (std::is_empty_v<Kind>) {
    return Kind{};
  } else {
    return Kind{{id}};
  }
}

struct NamedEvent {
  std::string_view name;
  Event (*about)(int64_t id);  // Of a job, or of a service.
};

// In the order of Event's alternatives.
constexpr std::array<NamedEvent, std::variant_size_v<Event>> kEvents{{
    {"job-arrived", EventAbout<JobArrived>},
    {"job-finished", EventAbout<JobFinished>},
    {"job-failed", EventAbout<JobFailed>},
    {"grant-settled", EventAbout<GrantSettled>},
    {"window-over", EventAbout<WindowOver>},
    {"objective-changed", EventAbout<ObjectiveChanged>},
    {"tick", EventAbout<Tick>},
}};

std::optional<int64_t> IdOf(const Event& event) {
  if (const std::optional<JobId> job = JobOf(event)) return job->value;
  if (const auto* changed = std::get_if<ObjectiveChanged>(&event)) return changed->service.value;
  return std::nullopt;
}

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
  const std::optional<int64_t> id = IdOf(event);
  return id ? fmt::format("{} {}", KindOf(event), *id) : std::string(KindOf(event));
}

std::optional<Event> ParseEvent(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(' '));
  for (const NamedEvent& named : kEvents) {
    if (named.name != name) continue;
    const bool has_id = IdOf(named.about(-1)).has_value();
    if (!has_id) return text == name ? std::optional(named.about(-1)) : std::nullopt;
    int64_t id = -1;
    const char* const begin = text.data() + std::min(name.size() + 1, text.size());
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(begin, end, id);
    if (error != std::errc() || rest != end) return std::nullopt;
    return named.about(id);
  }
  return std::nullopt;
}

std::vector<AllocationWord> ParseAllocation(std::string_view text) {
  std::vector<AllocationWord> words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const std::optional<int64_t> job =
        ReadNumber<int64_t>(word.substr(0, equals), 0, std::numeric_limits<int64_t>::max());
    if (job) words.push_back({JobId{*job}, word.substr(equals + 1)});
  }
  return words;
}

}  // namespace cosched
