#include "policies/placement.h"

#include <array>
#include <map>
#include <vector>

#include "engine/base/check.h"

namespace cosched {
namespace {

// Takes one CPU after another, each time the best by Score; the tallies below are kept up to date.
class Chooser {
 public:
  Chooser(const Topology& topology, const CpuSet& base, const CpuSet& candidates) {
    for (int cpu : topology.Cpus().ToVector()) ++core_size_[topology.Locate(cpu).core];
    for (int cpu : base.ToVector()) Count(&taken_, topology.Locate(cpu), 1);
    for (int cpu : candidates.ToVector()) {
      candidates_.push_back({cpu, topology.Locate(cpu)});
      Count(&available_, candidates_.back().at, 1);
    }
  }

  int TakeBest(int remaining) {
    size_t best = 0;
    for (size_t i = 1; i < candidates_.size(); ++i) {
      if (Score(candidates_[best], remaining) < Score(candidates_[i], remaining)) best = i;
    }
    const Candidate chosen = candidates_[best];
    candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(best));
    Count(&available_, chosen.at, -1);
    Count(&taken_, chosen.at, 1);
    return chosen.cpu;
  }

 private:
  using Rank = std::array<int, 7>;
  struct Candidate {
    int cpu;
    Topology::Location at;
  };
  struct Tally {
    std::map<int, int> core, l3, numa;
  };

  static void Count(Tally* tally, const Topology::Location& at, int by) {
    tally->core[at.core] += by;
    tally->l3[at.l3] += by;
    tally->numa[at.numa] += by;
  }

  // Higher is better, compared from left to right; among equals the lowest CPU wins.
  Rank Score(const Candidate& candidate, int remaining) {
    const Topology::Location& at = candidate.at;
    const int size = core_size_[at.core];
    const bool sibling_taken = taken_.core[at.core] > 0;
    const bool whole = available_.core[at.core] == size;
    // A whole core if all of it is needed; else a core that is in pieces already.
    const int unbroken = whole ? (remaining >= size ? 2 : 0) : 1;
    const int in_l3 = available_.l3[at.l3];
    const bool l3_fits = in_l3 >= remaining;
    const bool numa_fits = available_.numa[at.numa] >= remaining;
    // The tightest L3 that holds all of it leaves the large ones to others; if none does, the
    // largest needs the fewest.
    const int snug = l3_fits ? -in_l3 : in_l3;
    return {sibling_taken, unbroken, taken_.l3[at.l3], taken_.numa[at.numa], l3_fits,
            numa_fits,     snug};
  }

  std::map<int, int> core_size_;
  std::vector<Candidate> candidates_;  // Ascending.
  Tally available_;                    // Of the candidates.
  Tally taken_;                        // Of what the job has.
};

}  // namespace

CpuSet Place(const Topology& topology, const CpuSet& held, const CpuSet& available, int count) {
  CHECK(count >= 0 && (held | available).Count() >= count)
      << "placing " << count << " cores on " << (held | available).ToString();
  const bool grows = count >= held.Count();
  CpuSet result = grows ? held : CpuSet();
  Chooser chooser(topology, result, grows ? available - held : held);
  for (int left = count - result.Count(); left > 0; --left) result.Add(chooser.TakeBest(left));
  return result;
}

}  // namespace cosched
