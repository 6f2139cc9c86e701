#pragma once
// The programs of a profile as the simulated host asks for them: speeds remembered, start-up and
// stop times (the profile's medians), and what was extrapolated, for the marks. One thread.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/clock.h"
#include "experiments/hosts/simulation/contention.h"
#include "experiments/hosts/simulation/core_sharing.h"
#include "experiments/hosts/simulation/speed_model.h"
#include "experiments/wire/tenant_spec.h"

namespace cosched {

class ProgramModels {
 public:
  // oversubscription: more threads than cores cost the measured penalty.
  ProgramModels(const Profile& profile, bool oversubscription);

  // REQUIRES: the profile has the program.
  int IndexOf(const TenantSpec& spec);
  int IndexOf(const std::string& program) const;
  Duration StartTime(int program) const { return At(program).start; }
  Duration StopTime(int program) const { return At(program).stop; }
  // What the first steps take longer than later ones, in steps.
  double WarmUp(int program) const { return At(program).warm_up; }
  double StepSecondsAlone(int program, int cores) const {
    return At(program).speed.Alone(DefaultSplit(cores), std::max(1, cores)).seconds;
  }
  double MemoryBytes(int program) const { return At(program).memory_bytes; }
  double SlowDownByFarMemory(int program) const { return At(program).far_memory; }
  // Each thread's, of so many, in sharing a core.
  double Weight(int program, int threads) const { return threads > 1 ? At(program).weight : 1; }
  // Alone but for those that it shares cores with, physical ones among them.
  double StepsPerSecond(int program, Split threads, const CoreSharing::Share& share);
  // Step time with so many in the batch over that of the program's own batch: in a straight line
  // between the batches of this model and mode that the profile has; below the smallest as that.
  double BatchFactor(int program, int count) const;
  // Counts one of that speed as a co-runner; its rate goes to Contention::Leave.
  Executions::ClockId Join(int program, double steps_per_second, Contention* contention,
                           double* rate) const;

  // Of a pipeline's stages, in order.
  const std::vector<StageProfile>& Stages(int program) const { return At(program).stages; }

  // What rests on extrapolation, once.
  std::vector<std::string> TakeMarks();

 private:
  struct Program {
    explicit Program(const ProgramProfile& profile)
        : name(profile.program),
          speed(profile),
          start(FromSeconds(profile.start_s.value)),
          stop(FromSeconds(profile.stop_s.value)),
          one_core_step_s(speed.Alone({1, 1}, 1).seconds),
          warm_up(profile.warm_up.value),
          weight(profile.weight),
          pressure(profile.pressure),
          sensitivity(profile.sensitivity),
          sibling(profile.sibling.samples > 0 ? profile.sibling.value : 1),
          far_memory(profile.far_memory.samples > 0 ? profile.far_memory.value : 1),
          memory_bytes(profile.memory_bytes.value),
          stages(profile.stages) {}
    // "resnet20 infer batch " of its name, and the number.
    std::string Family() const { return name.substr(0, name.rfind(' ') + 1); }
    int Batch() const { return std::stoi(name.substr(name.rfind(' ') + 1)); }
    std::string name;
    SpeedModel speed;
    Duration start, stop;
    double one_core_step_s;
    double warm_up, weight;
    double pressure, sensitivity, sibling;
    double far_memory, memory_bytes;
    std::vector<StageProfile> stages;
    std::unordered_map<uint64_t, SpeedModel::StepTime> alone;  // Remembered.
    int beyond = 0;  // Flags: what was asked for beyond the measured.
  };
  const Program& At(int program) const { return programs_[static_cast<size_t>(program)]; }

  const bool oversubscription_;
  std::vector<Program> programs_;
  std::unordered_map<std::string, int> indexes_;
  // The answers to what was asked for, so that a job's program need not be spelt.
  struct Known {
    std::string model;
    Mode mode;
    int batch;
    int index;
  };
  std::vector<Known> known_;
};

}  // namespace cosched
