#pragma once
// What has come for a rank and is not received yet: the part that links share. Thread-safe; one
// thread receives.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "engine/gates/rank_link.h"

namespace cosched {

class Mailbox {
 public:
  void Put(int from, std::string message);
  // The receiver gets what came before, then RankGone for ever. The first reason counts.
  void Fail(const std::string& why);
  void Wake();
  std::optional<RankLink::Received> Receive(std::chrono::microseconds wait);

 private:
  struct Letter {
    int from;
    std::string message;
  };
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<Letter> letters_;
  bool woken_ = false;
  std::optional<std::string> failure_;
};

}  // namespace cosched
