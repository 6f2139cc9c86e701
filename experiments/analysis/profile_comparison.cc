#include "experiments/analysis/profile_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "experiments/analysis/estimate.h"
#include "experiments/analysis/statistics.h"

namespace cosched {
namespace {

void AddQuantity(const std::string& name, const Estimate& a, const Estimate& b,
                 std::vector<ComparedQuantity>* quantities) {
  if (a.samples > 0 && b.samples > 0) quantities->push_back({.name = name, .a = a, .b = b});
}

void CompareSteps(const ProgramProfile& a, const ProgramProfile& b,
                  std::vector<ComparedQuantity>* quantities) {
  for (const SpeedPoint& point : a.alone) {
    for (const SpeedPoint& other : b.alone) {
      if (other.cores != point.cores || other.threads != point.threads) continue;
      const size_t before = quantities->size();
      AddQuantity(
          fmt::format("{}: step on {} core{}, {}x{} threads", a.program, point.cores,
                      point.cores == 1 ? "" : "s", point.threads.inter, point.threads.intra),
          point.step_s, other.step_s, quantities);
      if (quantities->size() > before) quantities->back().step = true;
    }
  }
}

void ComparePrograms(const ProgramProfile& a, const ProgramProfile& b,
                     std::vector<ComparedQuantity>* quantities) {
  CompareSteps(a, b, quantities);
  AddQuantity(a.program + ": start", a.start_s, b.start_s, quantities);
  AddQuantity(a.program + ": first steps, in steps", a.warm_up, b.warm_up, quantities);
  AddQuantity(a.program + ": stop", a.stop_s, b.stop_s, quantities);
  AddQuantity(a.program + ": a step's slow-down by memory on another NUMA node", a.far_memory,
              b.far_memory, quantities);
  AddQuantity(a.program + ": memory, in bytes", a.memory_bytes, b.memory_bytes, quantities);
  for (const CrowdingPoint& point : a.crowding) {
    for (const CrowdingPoint& other : b.crowding) {
      if (other.threads != point.threads || other.others != point.others) continue;
      AddQuantity(fmt::format("{}: loss with {} thread{} beside {:.3g} a core", a.program,
                              point.threads, point.threads == 1 ? "" : "s", point.others),
                  point.loss, other.loss, quantities);
    }
  }
}

std::string CoRunName(const CoRun& run) {
  std::vector<std::string> names;
  for (const CoRun::Tenant& tenant : run.tenants)
    names.push_back(fmt::format("{} {} on {}", tenant.count, tenant.program, tenant.cores));
  return fmt::format("{}{}", fmt::join(names, " | "),
                     run.shared_cores > 0 ? fmt::format(" of {} shared", run.shared_cores) : "");
}

void CompareCoRuns(const Profile& a, const Profile& b, std::vector<ComparedQuantity>* quantities) {
  for (const CoRun& run : a.co_runs) {
    const auto other = std::find_if(b.co_runs.begin(), b.co_runs.end(), [&](const CoRun& one) {
      return CoRunName(one) == CoRunName(run);
    });
    if (other == b.co_runs.end()) continue;
    for (size_t i = 0; i < run.tenants.size(); ++i) {
      AddQuantity(fmt::format("slow-down of {} in {}", i + 1, CoRunName(run)),
                  run.tenants[i].slowdown, other->tenants[i].slowdown, quantities);
    }
  }
}

std::string ValueText(const Estimate& estimate) {
  if (estimate.samples < 2) return fmt::format("{:.4g}", estimate.value);
  return fmt::format("{:.4g} [{:.4g} {:.4g}]", estimate.value, estimate.low, estimate.high);
}

std::string Verdict(const ComparedQuantity& quantity) {
  if (!quantity.CanTell()) return "no interval";
  return quantity.Agrees() ? "agrees" : "DIFFERS";
}

// All step times together: the machine, not one program.
std::string StepsText(const std::vector<ComparedQuantity>& quantities) {
  std::vector<double> ratios;
  for (const ComparedQuantity& one : quantities) {
    if (one.step) ratios.push_back(one.Ratio());
  }
  if (ratios.empty()) return "";
  return fmt::format(
      "step times alone: B takes {:.3f} times as long as A (median of {}; from {:.3f} to {:.3f})\n",
      Median(ratios), ratios.size(), *std::ranges::min_element(ratios),
      *std::ranges::max_element(ratios));
}

}  // namespace

std::vector<ComparedQuantity> CompareProfiles(const Profile& a, const Profile& b) {
  std::vector<ComparedQuantity> quantities;
  for (const ProgramProfile& program : a.programs) {
    if (const ProgramProfile* other = b.Find(program.program))
      ComparePrograms(program, *other, &quantities);
  }
  CompareCoRuns(a, b, &quantities);
  AddQuantity("moves of memory between NUMA nodes, in bytes a second", a.move_bytes_s,
              b.move_bytes_s, &quantities);
  return quantities;
}

bool Agree(const std::vector<ComparedQuantity>& quantities) {
  return std::all_of(quantities.begin(), quantities.end(),
                     [](const auto& one) { return !one.CanTell() || one.Agrees(); });
}

std::string ProfileComparisonText(const std::vector<ComparedQuantity>& quantities) {
  std::string text;
  size_t longest = 0, told = 0, agree = 0;
  for (const ComparedQuantity& one : quantities) longest = std::max(longest, one.name.size());
  std::vector<const ComparedQuantity*> drifted;
  for (const ComparedQuantity& one : quantities) {
    text += fmt::format("{:<{}}  {:<28} {:<28} {:>6.3f}  {}\n", one.name, longest, ValueText(one.a),
                        ValueText(one.b), one.Ratio(), Verdict(one));
    if (!one.CanTell()) continue;
    ++told;
    agree += one.Agrees();
    if (!one.Agrees()) drifted.push_back(&one);
  }
  text += fmt::format("\n{} of {} quantities agree: their intervals have a value in common\n",
                      agree, told);
  text += StepsText(quantities);
  std::ranges::sort(drifted, [](const auto* x, const auto* y) {
    return std::abs(std::log(x->Ratio())) > std::abs(std::log(y->Ratio()));
  });
  for (const ComparedQuantity* one : drifted)
    text += fmt::format("  * drifted: {}: {:+.1f} %\n", one->name, (one->Ratio() - 1) * 100);
  return text;
}

}  // namespace cosched
