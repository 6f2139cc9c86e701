// A host's command line of a tenant is read by `cosched tenant` as what it was made from: each
// member of the spec that a workload can set has an argument.

#include "experiments/hosts/tenant_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cosched {
namespace {

using ::testing::Contains;
using ::testing::Not;

std::vector<std::string> Arguments(const TenantSpec& spec) {
  Job job;
  job.id = JobId{7};
  return TenantArguments(job, spec, CpuSet::Range(0, 1), {1, 2}, Client::kOn, /*unbound=*/false);
}

TEST(TenantArguments, OfADefaultSpecAreFew) {
  const std::vector<std::string> arguments = Arguments({});
  EXPECT_EQ(arguments.front(), "tenant");
  EXPECT_THAT(arguments, Contains("--job=7"));
  EXPECT_THAT(arguments, Contains("--cores=0-1"));
  for (const char* absent : {"--no-deterministic", "--precision=f32", "--split=auto", "--unbound"})
    EXPECT_THAT(arguments, Not(Contains(absent)));
}

TEST(TenantArguments, TellWhatDiffersFromTheDefault) {
  const auto changed = [](auto change) {
    TenantSpec spec;
    change(&spec);
    return Arguments(spec);
  };
  EXPECT_THAT(changed([](auto* spec) { spec->deterministic = false; }),
              Contains("--no-deterministic"));
  EXPECT_THAT(changed([](auto* spec) { spec->precision = Precision::kBFloat16; }),
              Contains("--precision=bf16"));
  EXPECT_THAT(changed([](auto* spec) { spec->auto_split = true; }), Contains("--split=auto"));
  EXPECT_THAT(changed([](auto* spec) { spec->spin = std::chrono::microseconds(7); }),
              Contains("--spin-us=7"));
  EXPECT_THAT(changed([](auto* spec) { spec->serves = true; }), Contains("--mode=serve"));
}

}  // namespace
}  // namespace cosched
