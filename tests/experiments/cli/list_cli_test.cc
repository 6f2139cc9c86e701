// cosched list keys: what an experiment file may say.

#include "tests/experiments/cli/cli_fixture.h"

namespace cosched {
namespace {

using ListCliTest = CliTest;

TEST_F(ListCliTest, KeysAreToldWithTypeDefaultRangeAndMeaning) {
  const Ended all = Run({"list", "keys"});
  EXPECT_EQ(all.exit_code, 0);
  for (const char* text :
       {"[machine]", "[[workload]]", "[trace.map]", "[policy.NAME]", "[sweep]", "[quick]"})
    EXPECT_NE(all.out.find(text), std::string::npos) << text;
  const Ended one = Run({"list", "keys", "sampling"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_EQ(one.out.find("[machine]"), std::string::npos) << one.out;
  EXPECT_NE(one.out.find("period_ms     integer  100      1 to 86400000"), std::string::npos)
      << one.out;
  const Ended inner = Run({"list", "keys", "workload"});
  EXPECT_NE(inner.out.find("workload.cores"), std::string::npos) << "with the tables inside";
}

TEST_F(ListCliTest, ExperimentsAreThoseThatHaveWorkloads) {
  const Ended all = Run({"list", "experiments"});
  EXPECT_NE(all.out.find("\ntrace_malleable_share "), std::string::npos) << all.out;
  EXPECT_EQ(all.out.find("\ntrace_generate "), std::string::npos) << "it draws a trace";
}

TEST_F(ListCliTest, WhatThereIsNotIsNamed) {
  ExpectRefused({"list", "keys", "machin"},
                {"\"machin\"", "did you mean \"machine\"?", "workload"});
  ExpectRefused({"list", "models", "machine"}, {"section", "models", "only with keys"});
}

}  // namespace
}  // namespace cosched
