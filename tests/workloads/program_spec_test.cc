#include "workloads/program_spec.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

// One place takes the engine's settings from a program: trainings, services and benchmarks pass
// through here.
TEST(ProgramSpecTest, ASessionHasTheProgramsRulesOnThreadsOfItsOwn) {
  ProgramSpec program;
  program.deterministic = false;
  program.rates.lanes = 8;
  program.spin = std::chrono::microseconds(7);
  SessionOptions threads;
  threads.inter_op_parallelism_threads = 3;
  threads.intra_op_parallelism_threads = 4;
  threads.binding = ThreadPools::Binding::kEachToItsCore;
  threads.piece_time = std::chrono::microseconds(9);
  const SessionOptions session = SessionOf(program, threads);
  EXPECT_FALSE(session.deterministic);
  EXPECT_EQ(session.rates, program.rates);
  EXPECT_EQ(session.waiting.spin, program.spin);
  EXPECT_EQ(session.inter_op_parallelism_threads, 3);
  EXPECT_EQ(session.intra_op_parallelism_threads, 4);
  EXPECT_EQ(session.binding, ThreadPools::Binding::kEachToItsCore);
  EXPECT_EQ(session.piece_time, std::chrono::microseconds(9));
}

}  // namespace
}  // namespace cosched
