#include "experiments/cli/doctor.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/kernels/kept_kernel_rates.h"
#include "experiments/cli/doctor_program.h"
#include "experiments/cli/finding.h"
#include "experiments/cli/json_output.h"
#include "experiments/cli/machine_findings.h"
#include "experiments/config/option_refusal.h"
#include "experiments/hosts/podman.h"
#include "experiments/launch/build_info.h"
#include "experiments/os/cgroup.h"
#include "experiments/os/exit_code.h"
#include "experiments/wire/control_socket.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

struct DoctorArguments {
  bool clean = false;
  bool measure = false;
  bool json = false;
  ProgramLook program;
};

// One of the two is null.
Json DoctorJson(int exit_code, Json machine, Json program, const std::vector<Finding>& findings) {
  return {{"schema", "cosched-doctor"},
          {"version", 1},
          {"exit", exit_code},
          {"machine", std::move(machine)},
          {"program", std::move(program)},
          {"findings", FindingsJson(findings)}};
}

Json BuildJson() {
  const BuildInfo& build = GetBuildInfo();
  return {{"version", build.version},       {"git_commit", build.git_commit},
          {"compiler", build.compiler},     {"build_type", build.build_type},
          {"sanitizers", build.sanitizers}, {"onednn", build.onednn},
          {"eigen", build.eigen},           {"hwloc", build.hwloc}};
}

std::string BuildText() {
  const BuildInfo& build = GetBuildInfo();
  return fmt::format("{}; {}, {} build; oneDNN {}, Eigen {}, hwloc {}\n", VersionText(),
                     build.compiler, build.build_type, build.onednn, build.eigen, build.hwloc);
}

// Both return the exit code.
int LookAtMachine(bool as_json) {
  JsonOutput output(as_json);
  if (!as_json) fmt::print("{}", BuildText());
  const std::vector<Finding> findings = FindingsOfMachine();
  const bool can_run = CanRun(findings);
  const int exit_code = can_run ? 0 : kFailed;
  if (as_json) {
    output.Print(
        DoctorJson(exit_code, {{"build", BuildJson()}, {"can_run", can_run}}, nullptr, findings));
  } else {
    fmt::print("{}{}\n", FindingsText(findings),
               can_run ? "Experiments can run here." : "Experiments can't run here.");
  }
  return exit_code;
}

int LookAt(const ProgramLook& look, bool as_json) {
  JsonOutput output(as_json);
  const LookedAtProgram looked = LookAtProgram(look);
  const int exit_code = looked.IsGood() ? 0 : kFailed;
  if (as_json) {
    output.Print(DoctorJson(exit_code, nullptr, LookedAtJson(looked), looked.findings));
  } else {
    fmt::print("{}", LookedAtText(looked));
  }
  return exit_code;
}

// Only what is ours and whose process is gone: other experiments may be running, also in
// containers, whose processes can't be seen from here.
int CleanUp() {
  Cleaned cleaned = CleanContainers();
  Cleaned groups = Cgroup::Clean();
  for (std::string& group : groups.removed) group.insert(0, "cgroup ");
  for (std::string& group : groups.left) group.insert(0, "cgroup ");
  cleaned.Add(std::move(groups));
  for (const auto& path : CleanControlDirectory()) {
    cleaned.removed.push_back("socket " + path.string());
  }
  for (const std::string& what : cleaned.removed) fmt::print("removed {}\n", what);
  for (const std::string& what : cleaned.left) fmt::print("left    {}\n", what);
  if (cleaned.removed.empty() && cleaned.left.empty()) fmt::print("nothing was left behind\n");
  return 0;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, int* exit_code) {
  CLI::App* doctor = app.add_subcommand(
      "doctor", "Tell what this machine offers, and what to do about what it lacks");
  const auto arguments = std::make_shared<DoctorArguments>();
  CLI::Option* clean = doctor->add_flag(
      "--clean", arguments->clean,
      "Remove the containers, cgroups and sockets that killed experiments left behind");
  doctor->add_flag("--measure", arguments->measure,
                   "Measure anew by what kernels are chosen; it wants the machine for itself");
  AddJsonFlag(doctor, &arguments->json, "doctor.schema")->excludes(clean);
  AddProgramLook(doctor, &arguments->program);
  doctor->callback([doctor, arguments, exit_code] {
    if (arguments->measure) MeasureKernelRatesAnew();
    const ProgramLook& program = arguments->program;
    const bool looks = !program.command.empty() || program.pid;
    if (!looks && doctor->count("--seconds") > 0)
      RefuseOption("--seconds", "there is no program to look at", "beside --pid PID, or -- CMD");
    *exit_code = looks              ? LookAt(program, arguments->json)
                 : arguments->clean ? CleanUp()
                                    : LookAtMachine(arguments->json);
  });
}

}  // namespace cosched
