// What a tenant says to its host, and the requests that the host sends it.

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <variant>

#include "experiments/hosts/supervised_tenant.h"

namespace cosched {
namespace {

constexpr Duration kLeaveTimeout = std::chrono::seconds(2);   // From "finished" to the end.
constexpr Duration kClosedTimeout = std::chrono::seconds(1);  // From a closed socket to the end.
constexpr Duration kFlushPeriod = std::chrono::microseconds(500);  // Between tries to send.
constexpr int kMessagesPerTurn = 64;  // A tenant that floods its host only delays itself.

}  // namespace

void SupervisedTenant::Handle(const HelloMessage& hello, TimePoint) {
  if (life_ != Life::kStarting) return Fail("said hello twice");
  if (hello.job != job_.id) return Fail("said hello for job " + std::to_string(hello.job.value));
  Reach(Life::kGreeted);
}

void SupervisedTenant::Handle(const SettledMessage& settled, TimePoint now) {
  if (settled.sequence > grant_.Sequence()) return Fail("settled a grant that was never made");
  const bool comes_up = life_ < Life::kReady;
  if (comes_up) Reach(Life::kReady);
  // It follows, if not yet the latest.
  if (comes_up || settled.sequence > answered_) settle_deadline_ = now + settings_.timeouts.settle;
  answered_ = std::max(answered_, settled.sequence);
  if (!SettlesOnAnswer() || settled.sequence < grant_.Sequence()) return;
  // Fewer is allowed: somebody else may have narrowed its cpuset.
  if (!grant_.Cores().Contains(settled.cores)) {
    return Fail("settled on cores " + settled.cores.ToString() + " instead of " +
                grant_.Cores().ToString());
  }
  grant_.Answer();
}

void SupervisedTenant::Handle(const ResizedMessage& resized, TimePoint) {
  const int threads = ThreadsOf(resized.after);
  // A client that halves has more threads than cores for a while, and says so; somebody else's
  // program may be rigid, or not have connected yet.
  const bool too_many =
      settings_.client == Client::kOn && threads > resized.cores.Count() && !spec_.IsCommand();
  if (!settings_.topology.Cpus().Contains(resized.cores) || too_many) {
    return Fail("reported a resize that can't be");
  }
  reports_.AddResize(resized);
  paused_by_others_ = resized.after == Split{0, 0};
}

void SupervisedTenant::Handle(const FinishedMessage& finished, TimePoint now) {
  // Of a program of somebody else's only its end counts; how many steps were seen is told in a mark.
  remark_ = finished.remark;
  if (finished.steps < spec_.steps && !spec_.IsCommand()) {
    return Fail("finished after " + std::to_string(finished.steps) + " of " +
                std::to_string(spec_.steps) + " steps");
  }
  if (requests_ && !(requests_->Drained() && requests_->AllAnswered())) {
    return Fail("finished with requests that it has not answered");
  }
  if (life_ != Life::kFinished) Reach(Life::kFinished);
  leave_deadline_ = now + kLeaveTimeout;
  // While its threads are still there: LastSample is made of this.
  sampler_->Read(ProcessSampler::Look::kLast);
}

void SupervisedTenant::Handle(const ErrorMessage& error, TimePoint) { Fail(error.reason); }

void SupervisedTenant::ReadMessages(TimePoint now) {
  std::string text;
  if (launched_->socket() < 0) return;
  for (int i = 0; i < kMessagesPerTurn && !closed_; ++i) {
    switch (ReceivePacket(launched_->socket(), &text)) {
      case Receipt::kNothing: return;
      case Receipt::kTooLong: return Fail("sent an oversized message");
      case Receipt::kClosed:
        closed_ = true;
        leave_deadline_ = now + (life_ == Life::kFinished ? kLeaveTimeout : kClosedTimeout);
        return;
      case Receipt::kPacket: break;
    }
    if (IsRequestPacket(text)) {
      if (!TakeAnswers(text, now)) return;
      continue;
    }
    if (!claims_.CountMessage(now)) return Fail("floods its control socket");
    const Parsed<TenantMessage> parsed = ParseTenantMessage(text);
    if (!parsed.message) return Fail("sent a message that can't be read: " + parsed.error);
    const bool needs_greeting = !std::holds_alternative<HelloMessage>(*parsed.message) &&
                                !std::holds_alternative<ErrorMessage>(*parsed.message);
    if (life_ == Life::kStarting && needs_greeting) return Fail("did not say hello first");
    std::visit([&](const auto& message) { Handle(message, now); }, *parsed.message);
  }
}

// There are no more of them than requests, so they can't flood. False if they can't be true.
bool SupervisedTenant::TakeAnswers(const std::string& packet, TimePoint now) {
  const Parsed<AnswerPacket> parsed = ParseAnswerPacket(packet);
  if (!parsed.message) {
    Fail("sent answers that can't be read: " + parsed.error);
  } else if (!requests_) {
    Fail("answered requests, though it serves nobody");
  } else {
    Fail(requests_->Take(*parsed.message, epoch_, now));
  }
  return failure_.empty();
}

void SupervisedTenant::FlushRequests(TimePoint now) {
  if (!requests_ || life_ < Life::kReady || stop_.Wanted() || closed_) return;
  if (requests_->Flushed()) return;
  requests_->Flush(launched_->socket());
  if (!requests_->Flushed()) next_check_ = std::min(next_check_, now + kFlushPeriod);
}

}  // namespace cosched
