#include "experiments/hosts/simulation/program_models.h"

#include <fmt/format.h>

#include "engine/base/check.h"

namespace cosched {

ProgramModels::ProgramModels(const Profile& profile, bool oversubscription)
    : oversubscription_(oversubscription) {
  for (const ProgramProfile& program : profile.programs) {
    indexes_[program.program] = static_cast<int>(programs_.size());
    programs_.emplace_back(program);
  }
}

int ProgramModels::IndexOf(const TenantSpec& spec) {
  // Their model does not tell all.
  if (spec.IsPipeline() || spec.IsCommand()) return IndexOf(ProgramName(spec));
  for (const Known& known : known_) {
    if (known.model == spec.model && known.mode == spec.mode && known.batch == spec.batch)
      return known.index;
  }
  const int index = IndexOf(ProgramName(spec));
  known_.push_back({spec.model, spec.mode, spec.batch, index});
  return index;
}

int ProgramModels::IndexOf(const std::string& program) const {
  const auto found = indexes_.find(program);
  CHECK(found != indexes_.end()) << "the profile has no program " << program;
  return found->second;
}

double ProgramModels::StepsPerSecond(int index, Split threads, const CoreSharing::Share& share) {
  Program& program = programs_[static_cast<size_t>(index)];
  SpeedModel::StepTime step;
  if (share.shared && oversubscription_ && program.speed.KnowsCrowding()) {
    step = program.speed.Shared(threads, static_cast<int>(share.granted), share.rate, share.others);
  } else if (share.shared || !oversubscription_) {
    step = program.speed.Step(threads, share.cores, share.threads_per_core, oversubscription_);
  } else {
    const auto cores = static_cast<uint64_t>(share.granted);
    const uint64_t key = (static_cast<uint64_t>(threads.inter) << 40) |
                         (static_cast<uint64_t>(threads.intra) << 20) | cores;
    const auto [known, is_new] = program.alone.try_emplace(key);
    if (is_new) known->second = program.speed.Alone(threads, static_cast<int>(cores));
    step = known->second;
  }
  program.beyond |= step.beyond;
  if (share.beside > 0) step.seconds *= 1 + share.beside * (program.sibling - 1);
  return 1 / step.seconds;
}

double ProgramModels::BatchFactor(int index, int count) const {
  std::map<int, double> steps;  // By batch.
  for (const Program& program : programs_) {
    if (program.Family() == At(index).Family()) steps[program.Batch()] = program.one_core_step_s;
  }
  const auto above = steps.lower_bound(count);
  const double full = At(index).one_core_step_s;
  if (above == steps.end()) return 1;
  if (above == steps.begin() || above->first == count) return above->second / full;
  const auto& [fewer, faster] = *std::prev(above);
  const double share = static_cast<double>(count - fewer) / (above->first - fewer);
  return (faster + share * (above->second - faster)) / full;
}

Executions::ClockId ProgramModels::Join(int index, double steps_per_second, Contention* contention,
                                        double* rate) const {
  const Program& program = At(index);
  *rate = steps_per_second * program.one_core_step_s;
  return contention->Join(index, program.pressure, program.sensitivity, *rate);
}

std::vector<std::string> ProgramModels::TakeMarks() {
  std::vector<std::string> marks;
  const auto mark = [&marks](const Program& program, int flag, const std::string& what) {
    if (program.beyond & flag)
      marks.push_back(fmt::format("rests on extrapolation: {} {}", program.name, what));
  };
  for (Program& program : programs_) {
    mark(program, SpeedModel::kCores,
         fmt::format("on more cores than the {} measured", program.speed.MeasuredCores()));
    mark(program, SpeedModel::kThreadsPerCore, "with more threads per core than measured");
    mark(program, SpeedModel::kSplit, "with an inter-op size that was not measured");
    program.beyond = 0;
  }
  return marks;
}

}  // namespace cosched
