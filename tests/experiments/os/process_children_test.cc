#include "experiments/os/process_children.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "experiments/os/process_sampler.h"

namespace cosched {
namespace {

// A child with a child, and so on, each of which computes; killed in the end.
class Line {
 public:
  explicit Line(int length) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // Those whose parents are killed first are reaped here.
    first_ = fork();
    if (first_ != 0) return;
    for (int i = 1; i < length; ++i) {
      if (fork() != 0) break;
    }
    while (getpid() > 0) {
    }
  }
  ~Line() {
    for (const pid_t process : DescendantsOf(getpid())) kill(process, SIGKILL);
    while (waitpid(-1, nullptr, 0) > 0) {
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
  }
  pid_t first() const { return first_; }

 private:
  pid_t first_;
};

template <typename Holds>
void Await(Holds holds) {
  while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(ProcessChildrenTest, DescendantsReachDownToTheLast) {
  const Line line(4);
  Await([&] { return DescendantsOf(line.first()).size() == 3; });
  EXPECT_EQ(ChildrenOf(getpid()), std::vector<pid_t>{line.first()});
  const std::vector<pid_t> all = DescendantsOf(getpid());
  EXPECT_EQ(all.size(), 4U);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_EQ(std::count(all.begin(), all.end(), getpid()), 0);
}

TEST(ProcessChildrenTest, ASamplerFollowsThemAndKeepsWhatTheyUsed) {
  const Line line(3);
  Await([&] { return DescendantsOf(line.first()).size() == 2; });
  ProcessSampler sampler(line.first());
  sampler.FollowDescendants();
  ASSERT_TRUE(sampler.Read());
  ASSERT_EQ(sampler.Threads().size(), 3U);
  for (const ProcessSampler::Thread& thread : sampler.Threads())
    EXPECT_EQ(thread.compute, thread.tid != line.first()) << "all but the process itself";
  Await([&] {
    sampler.Read();
    return sampler.ComputeTotals().run_time > std::chrono::milliseconds(20);
  });
  const Duration used = sampler.ComputeTotals().run_time;
  const pid_t last = DescendantsOf(line.first()).back();
  kill(last, SIGKILL);
  Await([&] {  // A dead one that nobody has reaped yet is no thread any more.
    EXPECT_TRUE(sampler.Read());
    return sampler.Threads().size() == 2;
  });
  EXPECT_GE(sampler.ComputeTotals().run_time, used);
}

}  // namespace
}  // namespace cosched
