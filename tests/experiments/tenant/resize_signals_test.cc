#include "experiments/tenant/resize_signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace cosched {
namespace {

// What the sender says of it; "" if the signal was sent.
std::string Complaint(pid_t process) {
  try {
    SendResizeSignal(process, ResizeSignal::kCores, 1);
  } catch (const InputError& error) {
    EXPECT_EQ(error.details().key, std::to_string(process));
    return error.details().problem;
  }
  return "";
}

// A process that blocks the signals and takes none; `queue` of them find room.
class DeafProcess {
 public:
  explicit DeafProcess(rlim_t queue) {
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, nullptr, &before);
    ResizeSignals::Block();  // The child inherits it.
    child_ = fork();
    if (child_ == 0) {
      while (true) pause();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    const rlimit limit{queue, queue};
    EXPECT_EQ(prlimit(child_, RLIMIT_SIGPENDING, &limit, nullptr), 0);
  }
  ~DeafProcess() { End(); }
  DeafProcess(const DeafProcess&) = delete;
  DeafProcess& operator=(const DeafProcess&) = delete;

  void End() {
    if (child_ < 0) return;
    kill(child_, SIGKILL);
    waitpid(std::exchange(child_, -1), nullptr, 0);
  }
  pid_t pid() const { return child_; }

 private:
  pid_t child_ = -1;
};

TEST(ResizeSignalsTest, WhoDoesNotWaitForThemIsKnown) {
  const DeafProcess waits(8);
  EXPECT_TRUE(TakesResizeSignals(waits.pid()));
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t other = fork();
  if (other == 0) {
    sigset_t none;  // Whatever tests before this one have left blocked.
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (write(ready[1], "x", 1) != 1) _exit(1);  // Until fork is over, it may block any signal.
    while (true) pause();
  }
  char byte;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(TakesResizeSignals(other));
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

TEST(ResizeSignalsTest, SenderGivesUpWhenTheQueueStaysFull) {
  const DeafProcess deaf(0);
  EXPECT_EQ(Complaint(deaf.pid()), "its queue of signals stays full");
}

TEST(ResizeSignalsTest, ProcessThatIsGoneIsTold) {
  DeafProcess gone(0);
  const pid_t pid = gone.pid();
  gone.End();
  EXPECT_EQ(Complaint(pid), "no such process");
}

// In their order, each with its payload; those that make no sense or come without one are counted.
TEST(ResizeSignalsTest, TakesWhatWasSentInItsOrder) {
  ResizeSignals::Block();
  ResizeSignals signals;
  for (const int value : {3, 1, 7}) SendResizeSignal(getpid(), ResizeSignal::kIntra, value);
  kill(getpid(), SignalNumber(ResizeSignal::kIntra));
  std::vector<int> taken;
  signals.Take([&taken](ResizeSignal signal, int value) {
    EXPECT_EQ(signal, ResizeSignal::kIntra);
    if (value == 7) return false;
    taken.push_back(value);
    return true;
  });
  EXPECT_EQ(taken, (std::vector<int>{3, 1}));
  EXPECT_EQ(signals.Ignored(), 2);
}

}  // namespace
}  // namespace cosched
