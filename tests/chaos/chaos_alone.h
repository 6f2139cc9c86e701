#pragma once
// One chaos tenant of a given behaviour alone on a host, for the tests of each backend.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/hosts/process_host.h"

namespace cosched {

// Steps of 2 ms. More than the second that a host waits for one that has closed its socket.
inline constexpr int64_t kLongEnough = 1000;

// Gives it all cores, then all but one back. Its end: "" = finished, else why it failed; nullopt
// if it does not end.
inline std::optional<std::string> RunAlone(ProcessHost* host, std::string_view behaviour,
                                           int64_t steps) {
  const CpuSet machine = Topology::ThisMachine().OneThreadPerCore();
  Job job;
  job.id = JobId{1};
  job.request = {1, machine.Count(), machine.Count()};
  TenantSpec spec;
  spec.model = "chaos:" + std::string(behaviour);
  spec.steps = steps;
  host->Describe(job.id, spec);
  host->Start(job, Place::Whole(machine, DefaultSplit(machine.Count())));
  bool shrunk = false;
  const TimePoint patience = host->GetClock().Now() + std::chrono::seconds(60);
  while (host->GetClock().Now() < patience) {
    const auto event = host->NextEvent(patience);
    if (!event) continue;
    if (std::holds_alternative<HostSettled>(*event)) {
      if (!std::exchange(shrunk, true))
        host->Grant(job.id, Place::Whole(CpuSet{machine.First()}, {1, 1}));
      continue;
    }
    const auto* failed = std::get_if<HostFailed>(&*event);
    return failed != nullptr ? failed->reason : "";
  }
  return std::nullopt;
}

// How each may end when it runs alone: the beginnings of reasons, "" = it finishes. Those with
// several depend on how it is confined, or on a moment or a draw of its own.
inline std::vector<std::string_view> OwnEnds(std::string_view behaviour) {
  struct Ends {
    std::string_view behaviour;
    std::vector<std::string_view> reasons;
  };
  static const auto kEnds = std::to_array<Ends>({
      {"behaves", {""}},
      {"refuses", {"did not leave cores", "runs "}},
      {"deaf", {"did not leave cores"}},
      {"hangs", {"gave no heartbeat", "did not leave cores"}},
      {"greedy", {"runs "}},
      {"floods", {"floods its control socket"}},
      {"garbage", {"sent a message that can't be read"}},
      {"oversized", {"sent an oversized message"}},
      {"scribbles", {"wrote nonsense into its counters"}},
      {"lies", {"settled a grant that was never made"}},
      {"exits", {"exited with status"}},
      {"crashes", {"was killed by signal"}},
      {"closes", {"closed its control socket"}},
      {"mute", {"did not say hello"}},
      {"dies-before-hello", {"was killed by signal 9"}},
      {"dies-in-grant", {"was killed by signal 9"}},
      {"dies-in-finish", {"was killed by signal 9", ""}},
      {"stays", {""}},
      {"forks", {"exited with status 0", ""}},
  });
  for (const Ends& known : kEnds) {
    if (known.behaviour == behaviour) return known.reasons;
  }
  return {};
}

inline void ExpectOwnEnd(std::string_view behaviour, const std::optional<std::string>& end) {
  ASSERT_TRUE(end) << behaviour << " never ends";
  std::cout << behaviour << ": " << (end->empty() ? "finished" : *end) << '\n';
  if (Topology::ThisMachine().OneThreadPerCore().Count() == 1) return;  // Nothing could be revoked.
  const std::vector<std::string_view> may = OwnEnds(behaviour);
  EXPECT_TRUE(std::any_of(may.begin(), may.end(),
                          [&end](std::string_view reason) {
                            return reason.empty() ? end->empty() : end->starts_with(reason);
                          }))
      << behaviour << ": " << (end->empty() ? "finished" : *end);
}

}  // namespace cosched
