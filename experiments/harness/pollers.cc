#include "experiments/harness/pollers.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace cosched {
namespace {

constexpr double kPauseSeconds = 1e-3;
constexpr double kLatestWaking = 0.1;  // Of the pause.

}  // namespace

void Pollers::Add(ServerClass kind, Dispatch* dispatch, const ServerId& server,
                  std::vector<size_t> services) {
  CHECK(!services.empty()) << "a poller of nothing";
  // Pollers are not in step.
  pollers_.push_back({.kind = kind,
                      .dispatch = dispatch,
                      .server = server,
                      .services = std::move(services),
                      .next = TimePoint(FromSeconds(kPauseSeconds * random_.Uniform()))});
}

void Pollers::Run(TimePoint now, const Look& look, const Hand& hand) {
  for (Poller& poller : pollers_) {
    if (!poller.picked) continue;
    const bool is_gone = look(*poller.picked, poller.kind).length == 0;
    if (!is_gone && !hand(*poller.picked, poller.kind)) continue;
    poller.picked.reset();
    poller.next = now;
  }
  while (true) {
    Poller* first = nullptr;
    for (Poller& poller : pollers_) {
      if (poller.picked || poller.next > now) continue;
      if (first == nullptr || poller.next < first->next) first = &poller;
    }
    if (first == nullptr) return;
    Poll(first, now, look, hand);
  }
}

void Pollers::Poll(Poller* poller, TimePoint now, const Look& look, const Hand& hand) {
  views_.clear();
  for (const size_t service : poller->services) views_.push_back(look(service, poller->kind));
  const size_t pick = poller->dispatch->Next(views_, poller->server, now);
  CHECK(pick < views_.size()) << "a dispatch picks queue " << pick << " of " << views_.size();
  if (views_[pick].length > 0) {
    if (!hand(poller->services[pick], poller->kind)) poller->picked = poller->services[pick];
    return;
  }
  poller->next += FromSeconds(kPauseSeconds * random_.Uniform(1, 1 + kLatestWaking));
}

std::optional<TimePoint> Pollers::Next(const Waits& waits) const {
  std::optional<TimePoint> next;
  for (const Poller& poller : pollers_) {
    const bool may_find = std::any_of(poller.services.begin(), poller.services.end(),
                                      [&](size_t service) { return waits(service, poller.kind); });
    if (poller.picked || !may_find) continue;
    next = next ? std::min(*next, poller.next) : poller.next;
  }
  return next;
}

}  // namespace cosched
