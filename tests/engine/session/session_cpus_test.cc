// How often a session asks how many CPUs the machine has. glibc opens a file each time, so a run,
// which may take microseconds, must not.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <span>

#include "engine/graph/graph_builder.h"
#include "engine/graph/ops.h"
#include "engine/session/session.h"

namespace {

std::atomic<int> times_asked = 0;

}  // namespace

// In place of glibc's, which std::thread::hardware_concurrency calls.
extern "C" int get_nprocs() noexcept {
  ++times_asked;
  static const auto glibcs = reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, "get_nprocs"));
  return glibcs();
}

namespace cosched {
namespace {

TEST(SessionCpusTest, OnlyItsMakingAsksHowManyTheMachineHas) {
  Graph graph;
  GraphBuilder builder(&graph);
  builder.Relu(builder.Placeholder("x", {1}));
  graph.Build();
  const int before = times_asked;
  Session session(graph, SessionOptions{});
  EXPECT_GT(times_asked, before) << "it is not counted here, or not asked";
  const int made = times_asked;
  const float one = 1;
  for (int i = 0; i < 20; ++i)
    session.Run({{"x", Tensor::Of({1}, std::span<const float>(&one, 1))}}, {"Relu"});
  EXPECT_EQ(times_asked, made);
}

}  // namespace
}  // namespace cosched
