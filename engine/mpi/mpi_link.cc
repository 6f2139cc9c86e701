#include "engine/mpi/mpi_link.h"

#include <cstdlib>

#include "engine/base/error.h"
#include "engine/base/read_number.h"

#ifdef COSCHED_MPI_MISSING

namespace cosched {

bool HasMpi() { return false; }

struct MpiLink::Impl {};

MpiLink::MpiLink() {
  throw InputError({.key = "ranks",
                    .problem = "several ranks are not in this build of cosched, which lacked " +
                               std::string(COSCHED_MPI_MISSING),
                    .allowed = "a build where it is installed"});
}
MpiLink::~MpiLink() = default;
int MpiLink::Rank() const { return 0; }
int MpiLink::Size() const { return 1; }
LocalRanks MpiLink::Local() const { return {}; }
void MpiLink::Send(int /*to*/, std::string /*message*/) {}
std::optional<RankLink::Received> MpiLink::Receive(std::chrono::microseconds /*wait*/) {
  return std::nullopt;
}
void MpiLink::Wake() {}

}  // namespace cosched

#else

#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/thread_start.h"
#include "engine/base/unique_fd.h"
#include "engine/gates/mailbox.h"

namespace cosched {
namespace {

using std::chrono::microseconds;

constexpr microseconds kShortestSleep(20), kLongestSleep(500);
constexpr auto kBetweenLooksAtRanks = std::chrono::milliseconds(50);

// The processes of the ranks on this machine. MPI itself tells of none that died.
class RankWatch {
 public:
  explicit RankWatch(const LocalRanks& local, MPI_Comm machine) {
    struct stat names {};
    stat("/proc/self/ns/pid", &names);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const std::array<int64_t, 3> own{rank, getpid(), static_cast<int64_t>(names.st_ino)};
    std::vector<std::array<int64_t, 3> > all(static_cast<size_t>(local.count));
    MPI_Allgather(own.data(), own.size(), MPI_INT64_T, all.data(), own.size(), MPI_INT64_T,
                  machine);
    for (const auto& [other, pid, in] : all) {
      // In another container a process number means another process.
      if (other == rank || in != own[2]) continue;
      UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
      if (process.get() < 0) continue;
      ranks_.push_back(static_cast<int>(other));
      processes_.push_back(std::move(process));
    }
  }

  std::optional<int> Gone() const {
    for (size_t i = 0; i < ranks_.size(); ++i) {
      pollfd process{.fd = processes_[i].get(), .events = POLLIN, .revents = 0};
      if (poll(&process, 1, 0) == 1) return ranks_[i];
    }
    return std::nullopt;
  }

 private:
  std::vector<int> ranks_;
  std::vector<UniqueFd> processes_;
};

}  // namespace

bool HasMpi() { return true; }

struct MpiLink::Impl {
  // On its way out or in, until MPI has done with the bytes.
  struct Transfer {
    std::string bytes;
    int other = 0;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Place {
    int rank = 0, size = 1;
    LocalRanks local;
  };

  void Serve();
  Place Begin();
  bool Step();
  bool SendSome();
  bool ReceiveSome();
  bool EndSome();
  void Sleep(microseconds time);
  bool IsOver();
  void End();

  Place place;
  std::promise<Place> placed;
  Mailbox inbox;

  std::mutex mutex;  // Guards these:
  std::condition_variable news;
  std::deque<std::pair<int, std::string> > outbox;
  bool ending = false;
  bool leaving = false;  // Without the others.

  // Of its thread alone:
  std::optional<RankWatch> watch;
  std::list<Transfer> sent;
  std::deque<Transfer> coming;          // In the order in which they were sent.
  std::optional<MPI_Request> all_sent;  // By all ranks.
  bool gone = false;                    // A rank, or this one.
  std::thread thread;
};

MpiLink::Impl::Place MpiLink::Impl::Begin() {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_FUNNELED) {
    throw LinkError("MPI can't be begun with threads");
  }
  Place found;
  MPI_Comm_rank(MPI_COMM_WORLD, &found.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &found.size);
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, found.rank, MPI_INFO_NULL, &machine);
  MPI_Comm_rank(machine, &found.local.index);
  MPI_Comm_size(machine, &found.local.count);
  watch.emplace(found.local, machine);
  MPI_Comm_free(&machine);
  return found;
}

void MpiLink::Impl::Serve() {
  pthread_setname_np(pthread_self(), "mpi");
  try {
    placed.set_value(Begin());
  } catch (...) {
    placed.set_exception(std::current_exception());
    return;
  }
  microseconds sleep = kShortestSleep;
  auto next_look = std::chrono::steady_clock::now();
  while (true) {
    const bool moved = Step();
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_look) {
      next_look = now + kBetweenLooksAtRanks;
      if (const std::optional<int> rank = watch->Gone()) {
        gone = true;
        inbox.Fail(GoneText(*rank));
      }
    }
    if (IsOver()) break;
    sleep = moved ? kShortestSleep : std::min(2 * sleep, kLongestSleep);
    if (!moved) Sleep(sleep);
  }
  End();
}

// Whether anything moved.
bool MpiLink::Impl::Step() {
  const bool sends = SendSome();
  const bool receives = ReceiveSome();
  return EndSome() || sends || receives;
}

bool MpiLink::Impl::SendSome() {
  std::deque<std::pair<int, std::string> > messages;
  {
    const std::lock_guard lock(mutex);
    messages.swap(outbox);
  }
  for (auto& [to, bytes] : messages) {
    if (gone) break;
    Transfer& transfer = sent.emplace_back(Transfer{.bytes = std::move(bytes), .other = to});
    MPI_Isend(transfer.bytes.data(), static_cast<int>(transfer.bytes.size()), MPI_BYTE, to, 0,
              MPI_COMM_WORLD, &transfer.request);
  }
  return !messages.empty();
}

bool MpiLink::Impl::ReceiveSome() {
  bool any = false;
  while (!gone) {
    int there = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, &message, &status);
    if (there == 0) break;
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    Transfer& transfer = coming.emplace_back(Transfer{.bytes = {}, .other = status.MPI_SOURCE});
    transfer.bytes.resize(static_cast<size_t>(size));
    MPI_Imrecv(transfer.bytes.data(), size, MPI_BYTE, &message, &transfer.request);
    any = true;
  }
  return any;
}

// A message that came later waits for those that came before it.
bool MpiLink::Impl::EndSome() {
  if (gone) return false;
  bool any = false;
  const auto over = [](Transfer& transfer) {
    int done = 0;
    MPI_Test(&transfer.request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  };
  while (!coming.empty() && over(coming.front())) {
    inbox.Put(coming.front().other, std::move(coming.front().bytes));
    coming.pop_front();
    any = true;
  }
  return std::erase_if(sent, over) > 0 || any;
}

// Until that time, or there is something to send.
void MpiLink::Impl::Sleep(microseconds time) {
  // What is on its way moves only while it is asked for.
  const bool moving = !gone && !(sent.empty() && coming.empty());
  std::unique_lock lock(mutex);
  news.wait_for(lock, moving ? kShortestSleep : time,
                [this, before = ending] { return !outbox.empty() || ending != before; });
}

// Whether all ranks have sent what they had to; until then what comes is still received, so that
// nobody waits for it.
bool MpiLink::Impl::IsOver() {
  {
    const std::lock_guard lock(mutex);
    if (leaving) gone = true;
    if (!ending || (!outbox.empty() && !gone)) return false;
  }
  if (gone) return true;
  if (!sent.empty()) return false;
  if (!all_sent) MPI_Ibarrier(MPI_COMM_WORLD, &all_sent.emplace(MPI_REQUEST_NULL));
  int done = 0;
  MPI_Test(&*all_sent, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

// Without the one that is gone, nobody gets through MPI_Finalize.
void MpiLink::Impl::End() {
  if (!gone) MPI_Finalize();
}

MpiLink::MpiLink() : impl_(std::make_unique<Impl>()) {
  impl_->thread = StartThread("the thread of MPI", [impl = impl_.get()] { impl->Serve(); });
  try {
    impl_->place = impl_->placed.get_future().get();
  } catch (...) {
    impl_->thread.join();
    throw;
  }
}

MpiLink::~MpiLink() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->ending = true;
    impl_->leaving = std::uncaught_exceptions() > 0;
    impl_->news.notify_one();
  }
  impl_->thread.join();
}

int MpiLink::Rank() const { return impl_->place.rank; }
int MpiLink::Size() const { return impl_->place.size; }
LocalRanks MpiLink::Local() const { return impl_->place.local; }

void MpiLink::Send(int to, std::string message) {
  CHECK(message.size() <= kMostBytes) << message.size() << " bytes in a message";
  const std::lock_guard lock(impl_->mutex);
  impl_->outbox.emplace_back(to, std::move(message));
  impl_->news.notify_one();
}

std::optional<RankLink::Received> MpiLink::Receive(microseconds wait) {
  return impl_->inbox.Receive(wait);
}

void MpiLink::Wake() { impl_->inbox.Wake(); }

}  // namespace cosched

#endif

namespace cosched {

// Open MPI's mpirun sets the first, srun --mpi=pmix the others.
std::optional<int> RanksOfLauncher() {
  constexpr int kMostRanks = 1 << 20;
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size == nullptr && std::getenv("PMIX_RANK") != nullptr) size = std::getenv("SLURM_NTASKS");
  return size == nullptr ? std::nullopt : ReadNumber<int>(size, 1, kMostRanks);
}

}  // namespace cosched
