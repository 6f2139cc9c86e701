#pragma once
// Lets the calling thread run before the tenants that it moves: without that, a tenant moved onto
// the harness's core delays the very thread that moves it by milliseconds (measured: 60 us against
// 4-7 ms). Not inherited by tenants.

#include <string>

namespace cosched {

// SCHED_FIFO for the calling thread while it lives, where the user may; otherwise nothing changes.
class RealtimeScope {
 public:
  RealtimeScope();
  ~RealtimeScope();
  RealtimeScope(const RealtimeScope&) = delete;
  RealtimeScope& operator=(const RealtimeScope&) = delete;

  bool granted() const { return granted_; }
  const std::string& description() const {
    return description_;
  }  // "SCHED_FIFO 10", or why not. For the manifest.

 private:
  bool granted_ = false;
  std::string description_;
};

}  // namespace cosched
