#include "policies/placement.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/check.h"

namespace cosched {
namespace {

// How good a CPU is to take, of several things compared from the most important on; higher is
// better. One number, since choosing compares it for every candidate: a decision of many.
using Rank = uint64_t;

constexpr int kCountBits = 13;  // Bits that count so many CPUs at most: CpuSet::kMaxCpu + 1.
static_assert(CpuSet::kMaxCpu + 1 < 1 << kCountBits);

// What follows is less important than all before it.
Rank Then(Rank rank, int value, int bits) { return rank << bits | static_cast<Rank>(value); }

// How many CPUs are in each core, L3 and NUMA node, by the topology's indexes; -1 is one too.
class Tally {
 public:
  void Add(const Topology::Location& at, int by) {
    At(&core_, at.core) += by;
    At(&l3_, at.l3) += by;
    At(&numa_, at.numa) += by;
  }
  int core(int index) const { return Of(core_, index); }
  int l3(int index) const { return Of(l3_, index); }
  int numa(int index) const { return Of(numa_, index); }

 private:
  static int& At(std::vector<int>* counts, int index) {
    const auto slot = static_cast<size_t>(index + 1);
    if (counts->size() <= slot) counts->resize(slot + 1);
    return (*counts)[slot];
  }
  static int Of(const std::vector<int>& counts, int index) {
    const auto slot = static_cast<size_t>(index + 1);
    return slot < counts.size() ? counts[slot] : 0;
  }

  std::vector<int> core_, l3_, numa_;
};

// The rank of a candidate whose L3 and NUMA node have so many candidates left, and so many taken by
// the job; `core` says what concerns its core.
Rank RankOf(Rank core, int l3_left, int l3_taken, int numa_left, int numa_taken, int remaining) {
  const bool l3_fits = l3_left >= remaining;
  // The tightest L3 that holds all of it leaves the large ones to others; if none does, the largest
  // needs the fewest.
  const int snug = (1 << kCountBits) + (l3_fits ? -l3_left : l3_left);
  Rank rank = Then(core, l3_taken, kCountBits);
  rank = Then(rank, numa_taken, kCountBits);
  rank = Then(rank, l3_fits, 1);
  rank = Then(rank, numa_left >= remaining, 1);
  return Then(rank, snug, kCountBits + 1);
}

// Takes one CPU after another, each time the best by Score; the tallies below are kept up to date.
class Chooser {
 public:
  // base: what the job keeps; others: the CPUs of everybody else.
  Chooser(const Topology& topology, const CpuSet& base, const CpuSet& candidates,
          const CpuSet& others) {
    for (int cpu : topology.Cpus()) machine_.Add(topology.Locate(cpu), 1);
    for (int cpu : others) others_.Add(topology.Locate(cpu), 1);
    for (int cpu : base) taken_.Add(topology.Locate(cpu), 1);
    for (int cpu : candidates) {
      candidates_.push_back({cpu, topology.Locate(cpu)});
      available_.Add(candidates_.back().at, 1);
    }
  }

  int TakeBest(int remaining) {
    size_t best = 0;
    Rank best_rank = Score(candidates_[0], remaining);
    for (size_t i = 1; i < candidates_.size(); ++i) {
      if (candidates_[i].at == candidates_[i - 1].at) continue;  // The same rank.
      const Rank rank = Score(candidates_[i], remaining);
      if (best_rank < rank) {
        best = i;
        best_rank = rank;
      }
    }
    const Candidate chosen = candidates_[best];
    candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(best));
    available_.Add(chosen.at, -1);
    taken_.Add(chosen.at, 1);
    return chosen.cpu;
  }

 private:
  struct Candidate {
    int cpu;
    Topology::Location at;
  };

  // Among equals the lowest CPU wins.
  Rank Score(const Candidate& candidate, int remaining) const {
    const Topology::Location& at = candidate.at;
    const int size = machine_.core(at.core);
    const bool whole = available_.core(at.core) == size;
    const bool sibling_is_there = taken_.core(at.core) > 0;
    Rank core = Then(0, CpuSet::kMaxCpu + 1 - others_.core(at.core), kCountBits);
    core = Then(core, sibling_is_there, 1);
    // A whole core if all of it is needed; else a core that is in pieces already.
    core = Then(core, whole ? (remaining >= size ? 2 : 0) : 1, 2);
    return RankOf(core, available_.l3(at.l3), taken_.l3(at.l3), available_.numa(at.numa),
                  taken_.numa(at.numa), remaining);
  }

  std::vector<Candidate> candidates_;  // Ascending.
  Tally machine_;                      // All CPUs' tally.
  Tally others_;                       // The tally of what everybody else has.
  Tally available_;                    // The candidates' tally.
  Tally taken_;                        // The tally of what the job has.
};

// What is left to take, and what the job has.
struct Amounts {
  int left, taken;
};

// Amounts by index, all 0 at first; on the stack for all but large machines.
class AmountsList {
 public:
  explicit AmountsList(size_t count) {
    if (count > few_.size()) {
      many_.resize(count);
      at_ = many_.data();
    }
    std::fill_n(at_, count, Amounts{0, 0});
  }
  AmountsList(const AmountsList&) = delete;
  AmountsList& operator=(const AmountsList&) = delete;
  Amounts& operator[](size_t i) { return at_[i]; }
  const Amounts& operator[](size_t i) const { return at_[i]; }

 private:
  std::array<Amounts, 32> few_;  // Those that are not asked for are never written.
  std::vector<Amounts> many_;
  Amounts* at_ = few_.data();
};

// Domains of a topology whose cores have no siblings: what each of them, each L3 and each NUMA node
// has. Lives for one decision.
class DomainTally {
 public:
  DomainTally(const Topology& topology, const CpuSet& candidates, const CpuSet& taken)
      : domains_(topology.Domains()),
        each_(domains_.size()),
        l3_(SlotsOf(domains_, &Topology::Domain::l3)),
        numa_(SlotsOf(domains_, &Topology::Domain::numa)) {
    for (size_t i = 0; i < domains_.size(); ++i) {
      const CpuSet& cpus = domains_[i].cpus;
      const Amounts amounts = {cpus.CountCommon(candidates), cpus.CountCommon(taken)};
      if (amounts.left == 0 && amounts.taken == 0) continue;
      each_[i] = amounts;
      Add(domains_[i], amounts);
      last_ = i;
      if (amounts.left > 0) first_ = std::min(first_, i);
    }
  }

  // The best to take from while `remaining` CPUs are missing: its index.
  size_t Best(const CpuSet& candidates, int remaining) const {
    size_t best = domains_.size();
    Rank best_rank = 0;
    for (size_t i = first_; i <= last_; ++i) {
      if (each_[i].left == 0) continue;
      const Rank rank = RankOfDomain(i, remaining);
      const bool better = best == domains_.size() || best_rank < rank ||
                          (best_rank == rank && FirstOf(i, candidates) < FirstOf(best, candidates));
      if (!better) continue;
      best = i;
      best_rank = rank;
    }
    return best;
  }

  int Left(size_t domain) const { return each_[domain].left; }
  void Take(size_t domain, int count) {
    each_[domain].left -= count;
    each_[domain].taken += count;
    Add(domains_[domain], {-count, count});
  }

 private:
  using Domains = std::span<const Topology::Domain>;

  // By index + 1, since -1 is one too.
  static size_t Slot(int index) { return static_cast<size_t>(index + 1); }
  static size_t SlotsOf(Domains domains, int Topology::Domain::*index) {
    int most = -1;
    for (const Topology::Domain& domain : domains) most = std::max(most, domain.*index);
    return Slot(most) + 1;
  }
  void Add(const Topology::Domain& domain, Amounts by) {
    for (Amounts* sum : {&l3_[Slot(domain.l3)], &numa_[Slot(domain.numa)]}) {
      sum->left += by.left;
      sum->taken += by.taken;
    }
  }
  Rank RankOfDomain(size_t index, int remaining) const {
    const Amounts& l3 = l3_[Slot(domains_[index].l3)];
    const Amounts& numa = numa_[Slot(domains_[index].numa)];
    return RankOf(0, l3.left, l3.taken, numa.left, numa.taken, remaining);
  }
  int FirstOf(size_t domain, const CpuSet& candidates) const {
    return (domains_[domain].cpus & candidates).First();
  }

  Domains domains_;
  AmountsList each_;
  AmountsList l3_, numa_;           // By Slot.
  size_t first_ = domains_.size();  // All that have something left are from here ...
  size_t last_ = 0;                 // ... to here.
};

// The same choice where no core has siblings, by the domain: one that is best remains so until it
// is used up, since each CPU taken from it makes it better by the first thing that is compared.
void TakeByDomain(const Topology& topology, CpuSet candidates, int count, CpuSet* result) {
  DomainTally tally(topology, candidates, *result);
  while (count > 0) {
    const size_t best = tally.Best(candidates, count);
    CpuSet chosen = topology.Domains()[best].cpus & candidates;
    const int now = std::min(count, tally.Left(best));
    if (now < tally.Left(best)) chosen = chosen.Lowest(now);
    tally.Take(best, now);
    candidates -= chosen;
    *result |= chosen;
    count -= now;
  }
}

}  // namespace

CpuSet PlaceCores(const Topology& topology, const CpuSet& held, const CpuSet& available,
                  int count) {
  CHECK(count >= 0 && (held | available).Count() >= count)
      << "placing " << count << " cores on " << (held | available).ToString();
  const int has = held.Count();
  if (count == has) return held;
  const bool grows = count > has;
  CpuSet result = grows ? held : CpuSet();
  const CpuSet candidates = grows ? available - held : held;
  const int wanted = count - result.Count();
  if (wanted == candidates.Count()) return result |= candidates;
  if (topology.Domains().size() == 1 && !topology.HasSiblings()) {
    return result |= candidates.Lowest(wanted);
  }
  if (!topology.HasSiblings()) {
    TakeByDomain(topology, candidates, wanted, &result);
    return result;
  }
  Chooser chooser(topology, result, candidates, topology.Cpus() - held - available);
  for (int left = wanted; left > 0; --left) result.Add(chooser.TakeBest(left));
  return result;
}

std::vector<CpuSet> DivideCores(const Topology& topology, const CpuSet& cores, int parts) {
  CHECK(parts >= 1 && cores.Count() % parts == 0)
      << cores.Count() << " cores in " << parts << " equal parts";
  std::vector<CpuSet> divided;
  const Topology machine = topology.Within(cores);
  CpuSet left = cores;
  for (int part = 1; part < parts; ++part) {
    divided.push_back(PlaceCores(machine, {}, left, cores.Count() / parts));
    left -= divided.back();
  }
  divided.push_back(std::move(left));
  return divided;
}

}  // namespace cosched
