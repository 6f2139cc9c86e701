// `cosched pipeline run increment` as a person uses it, and what ranks do and refuse.

#include <gmock/gmock.h>

#include "engine/mpi/mpi_link.h"
#include "experiments/os/find_program.h"
#include "tests/experiments/cli/cli_fixture.h"

namespace cosched {
namespace {

using ::testing::HasSubstr;

class PipelineIncrementCliTest : public CliTest {
 protected:
  static std::vector<std::string> Command(const std::vector<std::string>& options) {
    std::vector<std::string> words = {"pipeline", "run", "increment"};
    words.insert(words.end(), options.begin(), options.end());
    return words;
  }
};

// Items 0 to 11, each larger by 2.
TEST_F(PipelineIncrementCliTest, AddsAndTellsWhereTheTimeWent) {
  const Ended ended = Run(Command({"--stages", "2", "--items", "4", "--requests", "3", "--open",
                                   "2", "--work-ms", "0.5", "--threads", "1"}));
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.err, "");
  EXPECT_THAT(ended.out, HasSubstr("3 requests with 12 items in "));
  EXPECT_THAT(ended.out, HasSubstr("their sum is 90\n"));
  EXPECT_THAT(ended.out, HasSubstr("\nadd1              12        12 "));
}

TEST_F(PipelineIncrementCliTest, StagesMayWaitAndMerge) {
  const Ended ended = Run(Command({"--stages", "1", "--items", "3", "--requests", "2", "--wait-ms",
                                   "1", "--parallel", "3", "--merge-ms", "1", "--merges", "2"}));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("2 requests with 2 items in "));
  EXPECT_THAT(ended.out, HasSubstr("their sum is 21\n"));
}

TEST_F(PipelineIncrementCliTest, RanksMakeTheSame) {
  if (!HasMpi()) GTEST_SKIP() << "this build has no MPI (Debian: libopenmpi-dev)";
  if (FindProgram("mpirun").empty()) GTEST_SKIP() << "no mpirun here (Debian: openmpi-bin)";
  for (const char* ranks : {"1", "2", "4"}) {
    const Ended ended = Run(Command({"--stages", "2", "--items", "50", "--requests", "4", "--open",
                                     "3", "--work-ms", "1", "--ranks", ranks}));
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("4 requests with 200 items in "));
    EXPECT_THAT(ended.out, HasSubstr("their sum is 20300\n"));
    EXPECT_THAT(ended.out, HasSubstr("\nadd2             200       200 "));
  }
}

TEST_F(PipelineIncrementCliTest, RefusesWhatCanNotBe) {
  ExpectRefused(Command({"--stages", "0"}), {"--stages: \"0\""});
  ExpectRefused(Command({"--items", "-1"}), {"--items: \"-1\""});
  ExpectRefused(Command({"--work-ms", "-1"}), {"--work-ms: \"-1\""});
  ExpectRefused(Command({"--ranks", "0"}), {"--ranks: \"0\""});
  ExpectRefused(Command({"--threads", "4096"}), {"--threads: "});
  ExpectRefused(Command({"--items", "1000000", "--requests", "11"}),
                {"--requests: 11 requests of 1000000 items are 11000000 items",
                 "10000000 items in all at most"});
  ExpectRefused(Command({"--wait-ms", "1", "--ranks", "2"}),
                {"--ranks: no stage can be made on another rank", "stages that compute"});
}

}  // namespace
}  // namespace cosched
