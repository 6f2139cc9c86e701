#pragma once
// A program with the preloaded library whose grant changes all the while. For its tests; on one thread.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tests/experiments/temporary_folder.h"
#include "tests/native/preloaded_program.h"

namespace cosched {

// 25, or what the environment says: 10,000 of each take minutes.
inline int ResizesOfAWay() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it.
  const char* const many = std::getenv("COSCHED_OPENMP_RESIZES");
  return many == nullptr ? 25 : std::atoi(many);
}

struct Ran {
  int exit_code = -1;
  std::string output;
  int grants = 0;    // Made while it ran, …
  int followed = 0;  // … and seen to be followed.
  ClientPage::Said said;
};

class PreloadedProgramTest : public ::testing::Test {
 protected:
  ProgramStart StartOf(const std::vector<std::string>& arguments, const ClientPage* page) const {
    std::vector<std::string> environment = {"OMP_NUM_THREADS=2", "OMP_SCHEDULE=dynamic"};
    environment.insert(environment.end(), more_.begin(), more_.end());
    return PreloadedStart(arguments, std::move(environment), page,
                          (folder_.path() / "output").string(),
                          (folder_.path() / "errors").string());
  }
  // The next grant comes when the last one was followed, so that none is skipped.
  Ran RunSteered(const std::vector<std::string>& arguments) {
    Ran ran;
    ClientPage page;
    uint64_t grant = page.Grant(2, {0, 1});
    SteeredProgram program(StartOf(arguments, &page));
    while (!program.Ended()) {
      ran.said = page.Read();
      if (ran.said.followed < grant && !ran.said.rigid) {
        EndsWithin(&program, patience_ms_);
        continue;
      }
      ran.followed += ran.said.followed == grant ? 1 : 0;
      grant = page.Grant(1 + ++ran.grants % most_threads_, {0, 1});
      if (ran.said.rigid)
        EndsWithin(&program, 1);  // It follows none of them: a thousand a second do.
    }
    ran.said = page.Read();
    ran.exit_code = program.Ended()->exit_code;
    ran.output = ReadText(folder_.path() / "output");
    return ran;
  }
  std::string Alone(const std::vector<std::string>& arguments) {
    SteeredProgram program(StartOf(arguments, nullptr));
    ExitCodeOf(&program);
    return ReadText(folder_.path() / "output");
  }
  // As often as it takes until so many grants were followed; what it computes never differs.
  void ExpectSteered(const std::vector<std::string>& arguments, int followed,
                     int64_t regions = 2000) {
    const std::string alone = Alone(arguments);
    ASSERT_FALSE(alone.empty());
    // A run of milliseconds follows a few grants, and one of many may follow none.
    for (int idle = 0; followed > 0;) {
      const Ran ran = RunSteered(arguments);
      ASSERT_EQ(ran.exit_code, 0);
      ASSERT_EQ(ran.output, alone);
      ASSERT_FALSE(ran.said.rigid) << Errors();
      ASSERT_GE(ran.said.regions, regions);
      followed -= ran.followed;
      idle = ran.followed > 0 ? 0 : idle + 1;
      ASSERT_LT(idle, 100) << "it follows nothing";
    }
  }
  static std::vector<std::string> With(std::vector<std::string> arguments, std::string last) {
    arguments.push_back(std::move(last));
    return arguments;
  }
  std::string Errors() const { return ReadText(folder_.path() / "errors"); }
  // It has kept its threads, and was told so.
  void ExpectRigid(const Ran& ran) const {
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_TRUE(ran.said.rigid);
    EXPECT_NE(Errors().find("its threads stay as they are"), std::string::npos) << Errors();
  }

  const TemporaryFolder folder_;
  std::vector<std::string> more_;  // Variables of the program.
  int most_threads_ = 3;
  int patience_ms_ = 0;  // Between two looks at whether a grant was followed.
};

}  // namespace cosched
