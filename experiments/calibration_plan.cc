#include "experiments/calibration_plan.h"

#include <fmt/format.h>

#include <set>

namespace cosched {
namespace {

constexpr size_t kMostTriples = 3;

std::set<int> PowersUpTo(int most) {
  std::set<int> powers = {most};
  for (int power = 1; power <= most; power *= 2) powers.insert(power);
  return powers;
}

void AddAlone(size_t program, int cores, std::vector<Measurement>* plan) {
  const auto add = [&](int on, Split threads) {
    plan->push_back({Measurement::Kind::kAlone, {program}, on, threads});
  };
  for (const int on : PowersUpTo(cores)) {
    add(on, {1, on});
    for (int inter = 2; inter <= on; inter *= 2) add(on, {inter, on - inter + 1});
    for (const int threads : PowersUpTo(2 * cores)) {
      if (threads > on) add(on, {1, threads});
    }
  }
}

void AddCoRuns(size_t programs, int cores, std::vector<Measurement>* plan) {
  std::set<int> each = {1, cores / 2};
  for (const int on : each) {
    for (size_t a = 0; a < programs; ++a) {
      for (size_t b = a; b < programs; ++b)
        plan->push_back({Measurement::Kind::kCoRun, {a, b}, on, DefaultSplit(on)});
    }
  }
  if (cores < 3) return;
  for (size_t a = 0; a < std::min(programs, kMostTriples); ++a) {
    const std::vector<size_t> triple = {a, (a + 1) % programs, (a + 2) % programs};
    plan->push_back({Measurement::Kind::kCoRun, triple, cores / 3, DefaultSplit(cores / 3)});
  }
}

}  // namespace

std::vector<Measurement> PlanCalibration(size_t programs, int cores) {
  std::vector<Measurement> plan;
  for (size_t program = 0; program < programs; ++program) {
    AddAlone(program, cores, &plan);
    plan.push_back({Measurement::Kind::kResize, {program}, cores, DefaultSplit(cores)});
    plan.push_back({Measurement::Kind::kShared, {program, program}, cores, DefaultSplit(cores)});
  }
  if (cores > 1) AddCoRuns(programs, cores, &plan);
  return plan;
}

std::string Describe(const Measurement& measurement, const std::vector<TenantSpec>& programs) {
  std::string names;
  for (const size_t program : measurement.programs)
    names += (names.empty() ? "" : " | ") + ProgramName(programs[program]);
  const std::string cores =
      fmt::format("{} core{}", measurement.cores, measurement.cores == 1 ? "" : "s");
  switch (measurement.kind) {
    case Measurement::Kind::kAlone:
      return fmt::format("{}: {}, {}x{} threads", names, cores, measurement.threads.inter,
                         measurement.threads.intra);
    case Measurement::Kind::kCoRun: return fmt::format("{}: {} each", names, cores);
    case Measurement::Kind::kShared: return fmt::format("{}: {} shared", names, cores);
    case Measurement::Kind::kResize: return fmt::format("{}: resizes on {}", names, cores);
  }
  return names;
}

}  // namespace cosched
