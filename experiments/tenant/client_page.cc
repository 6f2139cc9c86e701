#include "experiments/tenant/client_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <system_error>

#include "experiments/client/cosched_page.h"

namespace cosched {
namespace {

static_assert(offsetof(cosched_page, process) == 256 && sizeof(cosched_page) <= COSCHED_PAGE_SIZE,
              "version 1 is as cosched_page.h and cosched.py have it");

constexpr size_t kWords = sizeof(cosched_page::cores) / sizeof(uint64_t);
constexpr int kMostThreads = 1 << 20;
constexpr uint64_t kMostCounted = std::numeric_limits<int64_t>::max() / 2;

template <typename Value>
void Store(Value* member, Value value, std::memory_order order = std::memory_order_relaxed) {
  std::atomic_ref<Value>(*member).store(value, order);
}

template <typename Value>
Value Load(Value* member) {
  return std::atomic_ref<Value>(*member).load(std::memory_order_relaxed);
}

int64_t Grown(int64_t before, uint64_t said) {
  return std::max(before, static_cast<int64_t>(std::min(said, kMostCounted)));
}

UniqueFd MakeSealedPage() {
  UniqueFd fd(memfd_create("cosched-client", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ftruncate(fd.get(), COSCHED_PAGE_SIZE) != 0 ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    throw std::system_error(errno, std::generic_category(), "making a client's page");
  return fd;
}

}  // namespace

ClientPage::ClientPage() : fd_(MakeSealedPage()) {
  void* const memory =
      mmap(nullptr, COSCHED_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (memory == MAP_FAILED)
    throw std::system_error(errno, std::generic_category(), "mapping a client's page");
  page_ = static_cast<cosched_page*>(memory);
  page_->magic = COSCHED_PAGE_MAGIC;
  page_->version = COSCHED_PAGE_VERSION;
}

ClientPage::~ClientPage() { munmap(page_, COSCHED_PAGE_SIZE); }

std::string ClientPage::Variable() const {
  const std::string fd = std::to_string(fd_.get());
  return std::string(COSCHED_PAGE_VARIABLE "=") + fd + ":/proc/" + std::to_string(getpid()) +
         "/fd/" + fd;
}

uint64_t ClientPage::Grant(int threads, const CpuSet& cores) {
  Store(&page_->grant, ++grant_);  // Odd: who reads now reads again.
  std::atomic_thread_fence(std::memory_order_release);
  Store(&page_->threads, static_cast<uint32_t>(threads));
  Store(&page_->core_count, static_cast<uint32_t>(cores.Count()));
  uint64_t words[kWords] = {};
  for (const int cpu : cores) {
    const auto word = static_cast<size_t>(cpu) / 64;
    if (word < kWords) words[word] |= uint64_t{1} << (cpu % 64);
  }
  for (size_t i = 0; i < kWords; ++i) Store(&page_->cores[i], words[i]);
  Store(&page_->grant, ++grant_, std::memory_order_release);
  return grant_;
}

ClientPage::Said ClientPage::Read() {
  last_.follows = last_.follows || Load(&page_->process) != 0;
  const uint64_t followed = std::atomic_ref<uint64_t>(page_->followed).load();
  if (followed <= grant_ && followed > last_.followed) {
    last_.followed = followed;
    last_.at = std::chrono::nanoseconds(Grown(0, Load(&page_->followed_at)));
  }
  last_.threads = static_cast<int>(std::min<uint32_t>(Load(&page_->threads_now), kMostThreads));
  last_.steps = Grown(last_.steps, Load(&page_->steps));
  last_.stepped_at = std::chrono::nanoseconds(Grown(0, Load(&page_->stepped_at)));
  last_.images = Grown(last_.images, Load(&page_->images));
  last_.regions = Grown(last_.regions, Load(&page_->regions));
  last_.rigid = last_.rigid || Load(&page_->rigid) != 0;
  return last_;
}

}  // namespace cosched
