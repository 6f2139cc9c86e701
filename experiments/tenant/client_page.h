#pragma once
// The tenant's side of the page that it shares with a program of somebody else's
// (experiments/client/cosched_page.h): a memfd of fixed size, which the program inherits. What the
// program writes there is its word: it is read with care, and only ever grows. Not thread-safe.

#include <chrono>
#include <cstdint>
#include <string>

#include "engine/base/cpu_set.h"
#include "engine/base/unique_fd.h"

struct cosched_page;

namespace cosched {

class ClientPage {
 public:
  // Throws std::system_error if the kernel refuses.
  ClientPage();
  ~ClientPage();
  ClientPage(const ClientPage&) = delete;
  ClientPage& operator=(const ClientPage&) = delete;

  int fd() const { return fd_.get(); }  // To be inherited.
  std::string Variable() const;  // Of the program's environment: "COSCHED_CLIENT=9:/proc/…".

  // From now on it should have so many threads, on these cores. Returns the grant's number.
  uint64_t Grant(int threads, const CpuSet& cores);

  struct Said {
    bool follows = false;            // A process of the program has connected.
    uint64_t followed = 0;           // The last grant that it has followed, …
    std::chrono::nanoseconds at{0};  // … and when, by CLOCK_MONOTONIC.
    int threads = 0;                 // That it has.
    int64_t steps = 0, images = 0, regions = 0;
    std::chrono::nanoseconds stepped_at{0};  // When the last step was done; 0: not said.
    bool rigid = false;                      // It keeps its threads, whatever is granted.
  };
  // No less than it has said before; no grant that was never made.
  Said Read();

 private:
  const UniqueFd fd_;
  cosched_page* page_ = nullptr;
  uint64_t grant_ = 0;
  Said last_;
};

}  // namespace cosched
