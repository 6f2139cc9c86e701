#include "experiments/calibration/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace cosched {
namespace {

constexpr size_t kMostTriples = 3;
constexpr size_t kMostMixed = 2;  // Measurements of each program, with others of one thread.

std::set<int> PowersUpTo(int most) {
  std::set<int> powers = {most};
  for (int power = 1; power <= most; power *= 2) powers.insert(power);
  return powers;
}

// On so many cores each program runs beside others on cores of their own.
std::set<int> CoRunCores(int cores) {
  std::set<int> each;
  if (cores >= 2) each = {1, cores / 2};
  if (cores >= 3) each.insert(cores / 3);
  return each;
}

void AddAlone(size_t program, int cores, std::vector<Measurement>* plan) {
  const auto add = [&](int on, Split threads) {
    plan->push_back({.kind = Measurement::Kind::kAlone,
                     .programs = {program},
                     .cores = on,
                     .threads = threads});
  };
  const std::set<int> powers = PowersUpTo(cores);
  for (const int on : powers) {
    add(on, DefaultSplit(on));
    for (int inter = 2; inter <= on; inter *= 2) add(on, {inter, on - inter + 1});
    for (const int threads : PowersUpTo(2 * cores)) {
      if (threads > on) add(on, {1, threads});
    }
  }
  // What they are slowed down by is against these.
  for (const int on : CoRunCores(cores))
    if (!powers.contains(on)) add(on, DefaultSplit(on));
}

void AddCoRuns(size_t programs, int cores, std::vector<Measurement>* plan) {
  std::set<int> each = {1, cores / 2};
  for (const int on : each) {
    for (size_t a = 0; a < programs; ++a) {
      for (size_t b = a; b < programs; ++b)
        plan->push_back({.kind = Measurement::Kind::kCoRun,
                         .programs = {a, b},
                         .cores = on,
                         .threads = DefaultSplit(on)});
    }
  }
  if (cores < 3) return;
  for (size_t a = 0; a < std::min(programs, kMostTriples); ++a) {
    const std::vector<size_t> triple = {a, (a + 1) % programs, (a + 2) % programs};
    plan->push_back({.kind = Measurement::Kind::kCoRun,
                     .programs = triple,
                     .cores = cores / 3,
                     .threads = DefaultSplit(cores / 3)});
  }
}

void AddShared(size_t program, size_t programs, int cores, std::vector<Measurement>* plan) {
  const auto add = [&](size_t tenants, int each, int on) {
    plan->push_back({.kind = Measurement::Kind::kShared,
                     .programs = std::vector<size_t>(tenants, program),
                     .cores = each,
                     .threads = DefaultSplit(each),
                     .shared_cores = on});
  };
  for (const size_t tenants : {2, 4, 6}) add(tenants, cores, cores);
  if (cores == 1) return;
  for (const size_t tenants : {4, 6}) add(tenants, 1, 2);
  for (size_t i = 0; i < std::min(programs, kMostMixed); ++i) {
    plan->push_back({.kind = Measurement::Kind::kMixed,
                     .programs = {program, (program + i) % programs},
                     .cores = cores,
                     .threads = DefaultSplit(cores),
                     .shared_cores = cores});
  }
}

}  // namespace

bool Measurement::IsOfOneProgram() const {
  return std::all_of(programs.begin(), programs.end(),
                     [this](size_t program) { return program == programs.front(); });
}

bool Measurement::IsFitted() const {
  switch (kind) {
    case Kind::kCoRun: return programs.size() == 2;
    case Kind::kShared: return IsOfOneProgram();
    default: return kind == Kind::kMixed;
  }
}

std::vector<Measurement> PlanCalibration(size_t programs, int cores, int threads_per_core,
                                         int numa_nodes) {
  std::vector<Measurement> plan;
  for (size_t program = 0; program < programs; ++program) {
    AddAlone(program, cores, &plan);
    plan.push_back({.kind = Measurement::Kind::kResize,
                    .programs = {program},
                    .cores = cores,
                    .threads = DefaultSplit(cores)});
    AddShared(program, programs, cores, &plan);
    if (threads_per_core > 1) {
      plan.push_back({.kind = Measurement::Kind::kSiblings,
                      .programs = {program, program},
                      .cores = 1,
                      .threads = DefaultSplit(1)});
    }
    if (numa_nodes == 1) continue;
    for (const Measurement::Kind kind : {Measurement::Kind::kFar, Measurement::Kind::kMoves})
      plan.push_back({.kind = kind, .programs = {program}, .cores = 1, .threads = DefaultSplit(1)});
  }
  if (programs > 1) {
    plan.push_back({.kind = Measurement::Kind::kShared,
                    .programs = {0, 0, 1, 1},
                    .cores = cores,
                    .threads = DefaultSplit(cores),
                    .shared_cores = cores});
  }
  if (cores > 1) AddCoRuns(programs, cores, &plan);
  return plan;
}

std::string Describe(const Measurement& measurement, const std::vector<TenantSpec>& programs) {
  std::string names;
  for (const size_t program : measurement.programs) {
    if (measurement.IsOfOneProgram() && measurement.kind == Measurement::Kind::kShared &&
        !names.empty())
      break;
    names += (names.empty() ? "" : " | ") + ProgramName(programs[program]);
  }
  const std::string cores =
      fmt::format("{} core{}", measurement.cores, measurement.cores == 1 ? "" : "s");
  switch (measurement.kind) {
    case Measurement::Kind::kAlone:
      return fmt::format("{}: {}, {}x{} threads", names, cores, measurement.threads.inter,
                         measurement.threads.intra);
    case Measurement::Kind::kCoRun: return fmt::format("{}: {} each", names, cores);
    case Measurement::Kind::kShared:
      return fmt::format("{}: {} tenants of {} each share {}", names, measurement.programs.size(),
                         cores, measurement.shared_cores);
    case Measurement::Kind::kMixed:
      return fmt::format("{}: {}, the second on 1 of them", names, cores);
    case Measurement::Kind::kResize: return fmt::format("{}: resizes on {}", names, cores);
    case Measurement::Kind::kSiblings: return fmt::format("{}: the threads of 1 core each", names);
    case Measurement::Kind::kFar: return fmt::format("{}: {}, memory far", names, cores);
    case Measurement::Kind::kMoves: return fmt::format("{}: moves between NUMA nodes", names);
  }
  return names;
}

}  // namespace cosched
