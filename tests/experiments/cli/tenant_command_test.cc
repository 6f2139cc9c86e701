#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>

#include "engine/base/error.h"
#include "engine/base/topology.h"
#include "experiments/cli/tenant.h"

namespace cosched {
namespace {

// What the command says of these arguments; "" if it accepts them.
std::string Complaint(const std::string& arguments) {
  CLI::App app;
  int exit_code = 0;
  AddTenantCommand(app, &exit_code);
  try {
    app.parse("tenant " + arguments);
  } catch (const InputError& error) {
    EXPECT_EQ(error.details().file, "command line");
    return error.details().key + ": " + error.details().problem + "; " + error.details().allowed;
  }
  return "";
}

TEST(TenantCommandTest, BadValuesNameTheOptionAndWhatIsAllowed) {
  const std::string cores = Topology::ThisMachine().Cpus().ToString();
  const std::string count = std::to_string(Topology::ThisMachine().OneThreadPerCore().Count());
  const std::string resizes =
      "STEP:CORES, node:N:CORES or either with :INTERxINTRA, STEP from 0 to 19, CORES from 1 to " +
      count + ", INTER from 1 to 1 and INTRA from 1 to " + count;
  const struct {
    std::string arguments, complaint;
  } cases[] = {
      {"--batch 0", "--batch: \"0\"; an integer from 1 to 65536"},
      {"--batch 0x10", "--batch: \"0x10\"; an integer from 1 to 65536"},
      {"--batch 12x", "--batch: \"12x\"; an integer from 1 to 65536"},
      {"--steps=-1", "--steps: \"-1\"; an integer from 0 to 1000000000"},
      {"--seed 1e3", "--seed: \"1e3\"; an integer from 0 to 9223372036854775807"},
      {"--mode fly", "--mode: \"fly\"; train, infer or serve"},
      {"--mode serve --max-batch 0", "--max-batch: \"0\"; an integer from 1 to 65536"},
      {"--mode serve --max-delay-ms nan", "--max-delay-ms: \"nan\"; a number from 0 to 1000"},
      {"--mode serve --max-delay-ms x", "--max-delay-ms: \"x\"; a number from 0 to 1000"},
      {"--mode serve --requests 0", "--requests: \"0\"; an integer from 1 to 1000000000"},
      {"--mode serve --rate 0", "--rate: \"0\"; a number from 0.001 to 10000000"},
      {"--mode serve --resize-at 1:1",
       "--resize-at: \"1:1\"; only with --mode train or infer; a service has no steps, but "
       "`cosched "
       "ctl` resizes it"},
      {"--precision fp16", "--precision: \"fp16\"; f32 or bf16"},
      {"--split auto --no-deterministic",
       "--no-deterministic: with --split auto each split that is tried would be measured with the "
       "making of its kernels; one of them"},
      {"--mode serve --split auto", "--split: \"auto\"; fixed; a service has no steps to try on"},
      {"--cores 4095", "--cores: \"4095\"; an interval set such as \"0-3,5\" within " + cores},
      {"--cores a", "--cores: \"a\"; an interval set such as \"0-3,5\" within " + cores},
      {"--threads 4096", "--threads: \"4096\"; an integer from 1 to " + count},
      {"--threads 4097", "--threads: \"4097\"; an integer from 1 to 4096"},
      {"--spin-us 100001", "--spin-us: \"100001\"; an integer from 0 to 100000"},
      {"--inter 4096", "--inter: \"4096\"; an integer from 1 to " + count},
      {"--inter 0", "--inter: \"0\"; an integer from 1 to 4096"},
      {"--steps 20 --resize-at 20:1", "--resize-at: \"20:1\"; " + resizes},
      {"--steps 20 --resize-at 10", "--resize-at: \"10\"; " + resizes},
      {"--steps 20 --resize-at 1:0", "--resize-at: \"1:0\"; " + resizes},
      {"--steps 20 --resize-at 1:1:1", "--resize-at: \"1:1:1\"; " + resizes},
      {"--steps 20 --resize-at 1:1:2x1", "--resize-at: \"1:1:2x1\"; " + resizes},
      {"--steps 20 --resize-at node:5", "--resize-at: \"node:5\"; " + resizes},
      {"--seconds 0", "--seconds: \"0\"; an integer from 1 to 10000000"},
      {"--resize-at 3:1 --resize-at 3:1", "--resize-at: \"step 3 twice\"; one resize at each"},
      {"--host-fd 1", "--host-fd: \"1\"; an integer from 3 to 2147483647"},
      {"--start {}", "--start: is of a host; only with --host-fd or --host-socket"},
      {"--device {}", "--device: is of a host; only with --host-fd or --host-socket"},
      {"--host-fd 3 --device {}", "--counters-fd: is required; what a host tells of itself"},
      {"--host-fd 3 --host-socket /host",
       "--host-fd: is given beside --host-socket; one of the two"},
      {"--host-socket /host", "--start: is required; what a host tells of itself"},
      {"--host-fd 3 --start {}", "--counters-fd: is required; what a host tells of itself"},
      {"--host-fd 3 --start {} --counters-fd 4",
       "--host-pid: is required; what a host tells of itself"},
      {"--host-fd 3 --start {} --counters-fd 4 --host-pid 1",
       "--start: has no \"job\"; what a host of the same cosched writes"},
      {"--host-fd 3 --start soft --counters-fd 4 --host-pid 1",
       "--start: is no JSON object; what a host of the same cosched writes"},
  };
  for (const auto& [arguments, complaint] : cases) EXPECT_EQ(Complaint(arguments), complaint);
}

TEST(TenantCommandTest, HelpHidesAHostsOptionsAndTellsWhatOthersMayBe) {
  CLI::App app;
  int exit_code = 0;
  AddTenantCommand(app, &exit_code);
  EXPECT_EQ(app.get_subcommand("tenant")->help().find("host-fd"), std::string::npos);
  EXPECT_NE(app.get_subcommand("tenant")->help().find("--resize-at"), std::string::npos);
  EXPECT_NE(app.get_subcommand("tenant")->help().find("--batch INT:1..65536=32"),
            std::string::npos);
  EXPECT_NE(app.get_subcommand("tenant")->help().find("--mode train|infer|serve=train"),
            std::string::npos);
}

}  // namespace
}  // namespace cosched
