// Programs whose BLAS has threads of its own, with the preloaded library
// (experiments/client/cosched_openmp_blas.c): OpenBLAS with threads of its own and on OpenMP, BLIS, and one
// that has none. Each is skipped where it is not installed.

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/native/preloaded_program_fixture.h"
#include "tests/paths.h"

namespace cosched {
namespace {

// By their folders among Debian's libraries.
enum class Blas { kOpenBlas, kOpenBlasOnOpenMp, kBlis, kReference };

std::string NameOf(Blas blas) {
  switch (blas) {
    case Blas::kOpenBlas: return "OpenBlas";
    case Blas::kOpenBlasOnOpenMp: return "OpenBlasOnOpenMp";
    case Blas::kBlis: return "Blis";
    case Blas::kReference: return "Reference";
  }
  return "";
}

// Empty where the program could not be built.
#ifdef COSCHED_BLAS_PROGRAM
const std::filesystem::path kLibraries = COSCHED_BLAS_LIBRARIES;
const std::string kProgram = InBuild(COSCHED_BLAS_PROGRAM);
#else
const std::filesystem::path kLibraries;
const std::string kProgram;
#endif

class BlasClientTest : public PreloadedProgramTest, public ::testing::WithParamInterface<Blas> {
 protected:
  void SetUp() override {
    const std::filesystem::path of_blis = kLibraries / "blis-pthread";
    switch (GetParam()) {
      case Blas::kOpenBlas: path_ = kLibraries / "openblas-pthread"; break;
      case Blas::kOpenBlasOnOpenMp: path_ = kLibraries / "openblas-openmp"; break;
      case Blas::kBlis: path_ = folder_.path() / "blis"; break;
      case Blas::kReference: path_ = kLibraries / "blas"; break;
    }
    const std::filesystem::path needed =
        GetParam() == Blas::kBlis ? of_blis / "libblis.so.4" : path_ / "libblas.so.3";
    if (kProgram.empty() || !std::filesystem::exists(needed))
      GTEST_SKIP() << "there is no " << needed.filename().string() << " of this kind (Debian: "
                   << "libopenblas0-pthread, libopenblas0-openmp, libblis4-pthread, libblas3 and "
                      "liblapack3)";
    std::string libraries = path_.string();
    if (GetParam() == Blas::kBlis) {
      // Debian's libblas.so.3 of BLIS keeps the function that sets its threads to itself.
      std::filesystem::create_directory(path_);
      std::filesystem::create_symlink(needed, path_ / "libblas.so.3");
    }
    if (GetParam() == Blas::kBlis || GetParam() == Blas::kReference)
      libraries += ":" + (kLibraries / "lapack").string();
    // Threads that spin would take the cores from those that work. BLIS's always do, so a call there may
    // take a hundred slices of the scheduler's.
    if (GetParam() == Blas::kBlis) {
      most_threads_ = 2;
      patience_ms_ = 1;
      calls_ = 6;
      resizes_ = 2;
    }
    more_ = {"LD_LIBRARY_PATH=" + libraries, "OMP_WAIT_POLICY=passive",
             "OPENBLAS_THREAD_TIMEOUT=4"};
  }
  static std::vector<std::string> Program(const std::string& way, int calls) {
    return {kProgram, way, std::to_string(calls)};
  }

  // Its program ends when the library has three threads.
  void ExpectGrowsFromOneThread(const std::string& way) {
    ClientPage page;
    const uint64_t grant = page.Grant(1, {0, 1});
    SteeredProgram program(StartOf(Program(way, 3), &page));
    while (page.Read().followed < grant) ASSERT_FALSE(EndsWithin(&program, 1));
    page.Grant(3, {0, 1});
    EXPECT_EQ(ExitCodeOf(&program), 0);
    EXPECT_EQ(ReadText(folder_.path() / "output"), "right\n") << Errors();
  }

  std::filesystem::path path_;
  int calls_ = 400;
  int resizes_ = ResizesOfAWay();
};

INSTANTIATE_TEST_SUITE_P(Libraries, BlasClientTest,
                         ::testing::Values(Blas::kOpenBlas, Blas::kOpenBlasOnOpenMp, Blas::kBlis),
                         [](const auto& info) { return NameOf(info.param); });

TEST_P(BlasClientTest, ComputesTheSameWhileItIsResized) {
  ExpectSteered(Program("plain", calls_), resizes_, calls_ / 2);
}

TEST_P(BlasClientTest, HasAsManyThreadsAsWereGranted) {
  const std::vector<std::string> sizes = Program("sizes", 0);
  EXPECT_EQ(Alone(sizes), "2 2\n");
  for (const int threads : {1, 3}) {
    ClientPage page;
    page.Grant(threads, {0, 1});
    SteeredProgram program(StartOf(sizes, &page));
    EXPECT_EQ(ExitCodeOf(&program), 0);
    const std::string each = std::to_string(threads);
    EXPECT_EQ(ReadText(folder_.path() / "output"),
              std::string(each).append(" ").append(each).append("\n"));
    EXPECT_EQ(page.Read().threads, threads);
  }
}

// What it was told is no wish of its own, which would keep it there.
TEST_P(BlasClientTest, GrowsAgainFromOneThread) { ExpectGrowsFromOneThread("until"); }

// What a program says itself stands.
TEST_P(BlasClientTest, OneThatSetsItsThreadsKeepsThem) {
  const Ran ran = RunSteered(Program("set", calls_));
  ExpectRigid(ran);
  EXPECT_EQ(ran.output, "right\n");
}

// Its user has said that it does not count on what it sets.
TEST_P(BlasClientTest, OneThatIsTrustedFollowsThoughItSetsThem) {
  more_.emplace_back("COSCHED_OPENMP=trust");
  ClientPage page;
  page.Grant(3, {0, 1});
  SteeredProgram program(StartOf(Program("sizes", 1), &page));
  EXPECT_EQ(ExitCodeOf(&program), 0);
  EXPECT_EQ(ReadText(folder_.path() / "output"), "3 3\n") << Errors();
}

// Those whose threads are their own.
class OwnThreadsBlasTest : public BlasClientTest {};

INSTANTIATE_TEST_SUITE_P(Libraries, OwnThreadsBlasTest,
                         ::testing::Values(Blas::kOpenBlas, Blas::kBlis),
                         [](const auto& info) { return NameOf(info.param); });

// (The child of a program with OpenMP threads may have none, whatever cosched does.)
TEST_P(OwnThreadsBlasTest, GoesOnInTheChild) {
  const Ran ran = RunSteered(Program("fork", calls_));
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_GE(ran.said.regions, calls_ / 4);  // Of the parent.
  EXPECT_FALSE(ran.said.rigid);
  EXPECT_EQ(ran.output, "right\n");
}

// Also where the library is told behind the preloaded one's back, as threadpoolctl does it. (On OpenMP
// such a number is the calling thread's, and holds until the next grant.)
TEST_P(OwnThreadsBlasTest, OneThatSetsThemByTheLibrarysHandleKeepsThem) {
  ClientPage page;
  page.Grant(2, {0, 1});
  SteeredProgram program(StartOf(Program("set_behind", 0), &page));
  // Seen where a grant differs from the last one that a call has met.
  for (int grants = 0; !page.Read().rigid; ++grants) {
    ASSERT_LT(grants, 60000) << "it follows what it has set itself";
    page.Grant(1 + grants % 2, {0, 1});
    ASSERT_FALSE(EndsWithin(&program, 1)) << Errors();
  }
  program.Signal(SIGTERM);
  EXPECT_EQ(ExitCodeOf(&program), 0);
  EXPECT_EQ(ReadText(folder_.path() / "output"), "right\n");
  EXPECT_NE(Errors().find("its threads stay as they are"), std::string::npos) << Errors();
}

class ReferenceBlasTest : public BlasClientTest {};

INSTANTIATE_TEST_SUITE_P(Libraries, ReferenceBlasTest, ::testing::Values(Blas::kReference),
                         [](const auto& info) { return NameOf(info.param); });

TEST_P(ReferenceBlasTest, OneWithoutThreadsIsNoMatter) {
  const Ran ran = RunSteered(Program("plain", calls_));
  EXPECT_EQ(ran.exit_code, 0) << Errors();
  EXPECT_EQ(ran.output, "right\n");
  EXPECT_EQ(ran.said.regions, 0);
}

class OpenBlasTest : public BlasClientTest {
 protected:
  // Granted one thread.
  ClientPage::Said RunPython(const std::string& script, std::string* printed) const {
    ClientPage page;
    page.Grant(1, {0, 1});
    SteeredProgram program(StartOf({"/usr/bin/python3", "-s", "-c", script}, &page));
    ExitCodeOf(&program);
    *printed = ReadText(folder_.path() / "output");
    return page.Read();
  }
  bool HasModules() const { return Errors().find("No module named") == std::string::npos; }
};

INSTANTIATE_TEST_SUITE_P(Libraries, OpenBlasTest,
                         ::testing::Values(Blas::kOpenBlas, Blas::kOpenBlasOnOpenMp),
                         [](const auto& info) { return NameOf(info.param); });

// As R does where a call is wrong.
TEST_P(OpenBlasTest, OneThatLeavesACallByAJumpFollowsOn) {
  ExpectSteered(Program("jump", calls_), resizes_, calls_ / 2);
}

TEST_P(OpenBlasTest, OneWhoseHandlerOfErrorsCallsItFollowsOn) {
  ExpectGrowsFromOneThread("handle");
}

// All in one library, whose number is one for all of them. (Of BLIS, whose threads spin, this takes minutes.)
TEST_P(OpenBlasTest, ComputesTheSameInSeveralThreads) {
  ExpectSteered(Program("threads", calls_), resizes_, calls_ / 2);
}

// NumPy has it through what it is linked with itself, out of everybody's sight.
TEST_P(OpenBlasTest, NumPyFollows) {
  const std::string script =
      "import ctypes, numpy\n"
      "a = numpy.ones((200, 200))\n"
      "assert (a @ a == 200).all()\n"
      "for line in open('/proc/self/maps'):\n"
      "  if 'libopenblas' in line or 'libblas' in line:\n"
      "    library = ctypes.CDLL(line.split()[-1])\n"
      "    if hasattr(library, 'openblas_get_num_threads'):\n"
      "      print(library.openblas_get_num_threads())\n"
      "      break\n";
  std::string printed;
  const ClientPage::Said said = RunPython(script, &printed);
  if (!HasModules()) GTEST_SKIP() << "there is no python3-numpy";
  EXPECT_EQ(printed, "1\n") << Errors();
  EXPECT_EQ(said.regions, 1);
}

// Its modules call each other's BLAS by pointers, and some are linked with none.
TEST_P(OpenBlasTest, SciPyFindsIt) {
  const std::string script =
      "import numpy, scipy.linalg, scipy.cluster.vq\n"
      "assert abs(scipy.linalg.expm(numpy.zeros((50, 50))) - numpy.eye(50)).max() < 1e-12\n"
      "scipy.cluster.vq.vq(numpy.ones((500, 20)), numpy.ones((30, 20)))\n"
      "print('right')\n";
  std::string printed;
  RunPython(script, &printed);
  if (!HasModules()) GTEST_SKIP() << "there is no python3-scipy";
  EXPECT_EQ(printed, "right\n") << Errors();
}

}  // namespace
}  // namespace cosched
