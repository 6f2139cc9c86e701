#include "experiments/hosts/grant_in_flight.h"

#include <algorithm>

#include "engine/base/check.h"

namespace cosched {

void GrantInFlight::Begin(const Place& place, TimePoint now, Duration revocation_deadline) {
  state_ = State::kBegun;
  place_ = place;
  held_ = held_ | place.cores;
  held_amount_ = std::max(held_amount_, place.amount);
  ++sequence_;
  if (held_ == place.cores && held_amount_ == place.amount) {
    revocation_time_.reset();
  } else if (!revocation_time_) {
    revocation_time_ = now + revocation_deadline;
  }
}

void GrantInFlight::Move() {
  CHECK(!Applied()) << "a grant's group is moved after the tenant was told";
  state_ = State::kMoving;
}

void GrantInFlight::Apply() {
  CHECK(!Applied()) << "a grant is applied twice";
  state_ = State::kApplied;
}

void GrantInFlight::Answer() {
  if (state_ == State::kApplied) state_ = State::kAnswered;
}

void GrantInFlight::Settle() {
  CHECK(Applied() && !Settled()) << "a grant settles that is not under way";
  state_ = State::kSettled;
  held_ = place_.cores;
  held_amount_ = place_.amount;
  revocation_time_.reset();
}

void GrantInFlight::DelayRevocation(TimePoint now, Duration revocation_deadline) {
  if (!revocation_time_) return;
  CHECK(!Applied()) << "a tenant that was told to leave cores gets more time for it";
  revocation_time_ = now + revocation_deadline;
}

bool ProcessStop::Begin() {
  if (Wanted()) return false;
  state_ = State::kStopping;
  began_ = std::chrono::steady_clock::now();
  return true;
}

bool ProcessStop::Continue() {
  if (!Wanted()) return false;
  state_ = State::kRunning;
  return true;
}

std::optional<std::chrono::nanoseconds> ProcessStop::SeeStopped() {
  CHECK(Wanted()) << "a process is seen stopped that nobody stopped";
  if (state_ != State::kStopping) return std::nullopt;
  state_ = State::kStopped;
  return std::chrono::steady_clock::now() - began_;
}

bool ProcessStop::SeeRunning() {
  CHECK(state_ == State::kStopped || state_ == State::kRestopped)
      << "a process runs against its stop before it was seen stopped";
  if (state_ == State::kRestopped) return false;
  state_ = State::kRestopped;
  return true;
}

void ProcessStop::Settle() {
  if (state_ == State::kRestopped) state_ = State::kStopped;
}

}  // namespace cosched
