// As Triton's rate limiter divides the chances of a server: a service of priority p gets 1/p of
// those that one of priority 1 gets, while both wait. By stride scheduling (Waldspurger, Weihl,
// 1995): each turn moves a service on by its priority, and the one that is furthest behind is next;
// who did not wait makes up for nothing.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "policies/dispatch/best_queue.h"
#include "policies/dispatch/dispatches.h"

namespace cosched {
namespace {

constexpr std::array<Parameter, 1> kWeightedParameters = {
    {{.name = "priorities",
      .default_value = "1",
      .allowed = "text: whole numbers from 1 up by the order of the services, as 1,2,4; the last "
                 "one holds for the rest",
      .help = "a service of priority p gets 1/p of the chances of one of priority 1"}}};
constexpr int64_t kHighestPriority = 1'000'000;

std::vector<int64_t> ReadPriorities(std::string_view text) {
  std::vector<int64_t> priorities;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + comma, value);
    if (error != std::errc() || end != text.data() + comma || value < 1 ||
        value > kHighestPriority) {
      throw InputError({.file = {},
                        .line = 0,
                        .key = "dispatch.weighted.priorities",
                        .problem = fmt::format("\"{}\" is no priority", text.substr(0, comma)),
                        .allowed = fmt::format("whole numbers, 1 to {}, with commas between them",
                                               kHighestPriority)});
    }
    priorities.push_back(value);
    if (comma == text.size()) return priorities;
    text.remove_prefix(comma + 1);
  }
}

class Weighted final : public Dispatch {
 public:
  explicit Weighted(std::vector<int64_t> priorities) : priorities_(std::move(priorities)) {}

  size_t Next(std::span<const QueueView> queues, const ServerId& server, TimePoint) override {
    Turns& turns = turns_[server];
    const auto passed = [&turns](const QueueView& queue) {
      return std::max(turns.Passed(queue.service), turns.now);
    };
    const size_t next = LeastQueue(queues, passed);
    const ServiceId chosen = queues[next].service;
    turns.now = passed(queues[next]);
    const auto at = static_cast<size_t>(chosen.value);
    turns.Pass(chosen, turns.now + priorities_[std::min(at, priorities_.size() - 1)]);
    return next;
  }

 private:
  struct Turns {
    int64_t now = 0;
    std::vector<int64_t> passed;  // By service, as far as one had a turn: it is looked up often.

    int64_t Passed(ServiceId service) const {
      const auto at = static_cast<size_t>(service.value);
      return at < passed.size() ? passed[at] : 0;
    }
    void Pass(ServiceId service, int64_t until) {
      const auto at = static_cast<size_t>(service.value);
      if (at >= passed.size()) passed.resize(at + 1);
      passed[at] = until;
    }
  };
  std::vector<int64_t> priorities_;
  std::map<ServerId, Turns> turns_;
};

}  // namespace

DispatchInfo WeightedDispatch() {
  return {.name = "weighted",
          .summary = "the services in turn, each as often as its priority says",
          .source = "NVIDIA Triton, rate limiter",
          .parameters = kWeightedParameters,
          .make = [](const Parameters& parameters, const Random&) {
            return std::make_unique<Weighted>(ReadPriorities(parameters.at("priorities")));
          }};
}

}  // namespace cosched
