#include "engine/gates/mailbox.h"

#include <utility>

#include "engine/gates/packed_bytes.h"

namespace cosched {

void Mailbox::Put(int from, std::string message) {
  const std::lock_guard lock(mutex_);
  letters_.push_back({from, std::move(message)});
  news_.notify_one();
}

void Mailbox::Fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = why;
  news_.notify_one();
}

void Mailbox::Wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  news_.notify_one();
}

std::optional<RankLink::Received> Mailbox::Receive(std::chrono::microseconds wait) {
  Letter letter;
  {
    std::unique_lock lock(mutex_);
    news_.wait_for(lock, wait, [this] { return woken_ || failure_ || !letters_.empty(); });
    woken_ = false;
    if (letters_.empty()) {
      if (failure_) throw RankGone(*failure_);
      return std::nullopt;
    }
    letter = std::move(letters_.front());
    letters_.pop_front();
  }
  try {
    return RankLink::Received{letter.from, DecodeRankMessage(letter.message)};
  } catch (const MalformedBytes& error) {
    throw LinkError("rank " + std::to_string(letter.from) +
                    " sent a message that is none: " + error.what());
  }
}

}  // namespace cosched
