// Ranks that are processes, started by mpirun: rank_program.cc is what they are. Skipped where this
// build or this machine has no MPI.

#include "engine/mpi/mpi_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "engine/base/error.h"
#include "tests/paths.h"

namespace cosched {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

struct Ended {
  int exit_code = 0;
  std::string said;
};

Ended RunRanks(int ranks, const std::string& arguments) {
  const std::string root = geteuid() == 0 ? "--allow-run-as-root " : "";
  const std::string command = "mpirun " + root +
                              "--oversubscribe --bind-to none "
                              "--mca odls_base_sigkill_timeout 2 -n " +
                              std::to_string(ranks) + " " + InBuild(COSCHED_RANK_PROGRAM) + " " +
                              arguments + " 2>&1";
  Ended ended;
  FILE* const stream = popen(command.c_str(), "r");
  std::array<char, 4096> part{};
  while (const size_t size = fread(part.data(), 1, part.size(), stream))
    ended.said.append(part.data(), size);
  const int status = pclose(stream);
  ended.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

class MpiLinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasMpi()) GTEST_SKIP() << "this build has no MPI (Debian: libopenmpi-dev)";
    if (std::system("command -v mpirun >/dev/null 2>&1") != 0)
      GTEST_SKIP() << "no mpirun here (Debian: openmpi-bin)";
  }
};

TEST_F(MpiLinkTest, RanksMakeTheCalls) {
  for (const int ranks : {2, 4}) {
    const Ended ended = RunRanks(ranks, "50 10");
    EXPECT_EQ(ended.exit_code, 0) << ended.said;
    std::string expected = "50 of 50 right, R ranks, R here";
    std::ranges::replace(expected, 'R', static_cast<char>('0' + ranks));
    EXPECT_THAT(ended.said, HasSubstr(expected));
  }
}

// Other ways through MPI than small ones take.
TEST_F(MpiLinkTest, LargeItemsComeWhole) {
  const Ended ended = RunRanks(3, "6 5000000");
  EXPECT_EQ(ended.exit_code, 0) << ended.said;
  EXPECT_THAT(ended.said, HasSubstr("6 of 6 right, 3 ranks"));
}

TEST_F(MpiLinkTest, ARankThatIsKilledEndsTheOthersWithAReason) {
  const Ended ended = RunRanks(4, "50 10 2");
  EXPECT_NE(ended.exit_code, 0);
  // It, unless rank 0 looks so late that mpirun has ended another one, too, which it does a second
  // later.
  EXPECT_THAT(ended.said, ContainsRegex("ended: rank [123] is gone"));
}

// Without a launcher there are no ranks, and a build without MPI says what it lacks.
TEST(RanksOfLauncherTest, ThereAreNone) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) GTEST_SKIP() << "under mpirun";
  EXPECT_FALSE(RanksOfLauncher());
  if (!HasMpi()) {
    EXPECT_THROW(MpiLink(), InputError);
  }
}

}  // namespace
}  // namespace cosched
