#pragma once
// The events of policies/policy.h by name, as decisions.csv tells them ("job-arrived 3", "tick")
// and as external policies get them (policies/external/policy_protocol.h). Called by the arbiter
// for each decision, by the protocol, and by who reads decisions back. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/policy.h"

namespace cosched {

std::string_view KindOf(const Event& event);             // "job-arrived"
std::optional<JobId> JobOf(const Event& event);          // A tick has no job.
std::string ToString(const Event& event);                // "job-arrived 3"
std::optional<Event> ParseEvent(std::string_view text);  // Other texts are no event.

// What the text of an allocation says of a job in place of its cores: "4=reject 5=pause".
inline constexpr std::string_view kRejectText = "reject";
inline constexpr std::string_view kPauseText = "pause";

// What an allocation's text gives one job: cores, or one of the words above.
struct AllocationWord {
  JobId job;
  std::string_view what;
};
// Those of "3=0-1 4=reject 5=pause", in their order, as views into it; what is none is left out.
std::vector<AllocationWord> ParseAllocation(std::string_view text);

}  // namespace cosched
