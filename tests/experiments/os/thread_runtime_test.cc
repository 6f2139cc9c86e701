#include "experiments/os/thread_runtime.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

std::vector<std::string> NamesOf(std::string_view maps) {
  std::vector<std::string> names;
  for (const ThreadRuntime* runtime : RuntimesOf(maps)) names.emplace_back(runtime->name);
  return names;
}

const ThreadRuntime& Only(std::string_view library) {
  return *RuntimesOf("7f00-7f01 r-xp 0 00:00 1  /usr/lib/" + std::string(library) + "\n").at(0);
}

TEST(ThreadRuntimeTest, AreKnownByTheLibrariesThatAreMapped) {
  EXPECT_EQ(NamesOf("55d0-55d1 r--p 00000000 08:01 131 /usr/lib/libblis/sort\n"
                    "7f10-7f11 rw-p 00000000 00:00 0 \n"
                    "7f12-7f13 r-xp 00000000 08:01 17 /usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0\n"
                    "7f13-7f14 r--p 00000000 08:01 17 /usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0\n"
                    "7f15-7f16 r-xp 00000000 08:01 18 /opt/site/libopenblasp-r0-2d23e62b.3.17.so"),
            (std::vector<std::string>{"OpenMP of GCC", "OpenBLAS"}));
  EXPECT_TRUE(NamesOf("").empty());
}

TEST(ThreadRuntimeTest, AVariableThatIsSetDecides) {
  const ThreadRuntime& blas = Only("libopenblas.so.0");
  const auto environment =
      ParseEnvironment(std::string_view("A=\0OMP_NUM_THREADS=6,2\0B=x=y\0", 28));
  EXPECT_EQ(environment.at("B"), "x=y");
  const ThreadBelief by_variable = BeliefOf(blas, environment, 4, 2, 64);
  EXPECT_EQ(by_variable.threads, 6);
  EXPECT_EQ(by_variable.from, "OMP_NUM_THREADS=6,2");
  EXPECT_EQ(
      BeliefOf(blas, {{"OMP_NUM_THREADS", "6"}, {"OPENBLAS_NUM_THREADS", "3"}}, 4, 2, 64).threads,
      3);
  EXPECT_EQ(BeliefOf(blas, {{"OMP_NUM_THREADS", "many"}}, 4, 2, 64).threads, 4);
}

TEST(ThreadRuntimeTest, WithoutOneEachReadsWhatItReads) {
  EXPECT_EQ(BeliefOf(Only("libgomp.so.1"), {}, 4, 2, 64).threads, 4);
  EXPECT_EQ(BeliefOf(Only("libonnxruntime.so.1.17"), {}, 4, 2, 64).threads, 64);
  EXPECT_EQ(BeliefOf(Only("libjvm.so"), {}, 4, 2, 64).threads, 2);
  EXPECT_EQ(BeliefOf(Only("libblis.so.4"), {}, 4, 2, 64).threads, 1);
}

}  // namespace
}  // namespace cosched
