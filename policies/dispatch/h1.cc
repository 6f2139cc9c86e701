// ROMA's heuristic H1 (Baresi, Quattrocchi, Rasi, ICSOC 2021, its code: HEURISTIC_1): the queue with
// the largest need. avg = mean over those that wait of their waiting + the expected service time;
// need = avg - SLA (1 - alpha), or 0 if that is below 0. If no queue needs anything, the longest
// one. As written, avg is half of that mean and half the mean of the last 50 answers (recent = on);
// as run, no answer was ever told to it (recent = off).

#include <algorithm>
#include <array>
#include <utility>

#include "policies/dispatch/best_queue.h"
#include "policies/dispatch/dispatches.h"

namespace cosched {
namespace {

constexpr std::array<Parameter, 2> kH1Parameters = {
    {{.name = "alpha",
      .default_value = "0.5",
      .allowed = "number >= 0 and <= 1",
      .help = "the part of the SLA that a request may not have used up for its queue to need"},
     {.name = "recent",
      .default_value = "off",
      .allowed = "off | on",
      .help = "whether the last 50 answers count half: off as run, on as written"}}};

class H1 final : public Dispatch {
 public:
  H1(double alpha, bool recent) : alpha_(alpha), recent_(recent) {}

  size_t Next(std::span<const QueueView> queues, const ServerId&, TimePoint) override {
    // Longest first only where nothing is needed, which is behind all that need something.
    return LeastQueue(queues, [this](const QueueView& queue) {
      const double need = Need(queue);
      return std::pair(-need, need > 0 ? 0 : -queue.length);
    });
  }

 private:
  double Need(const QueueView& queue) const {
    if (queue.length == 0) return 0;
    double average = ToSeconds(queue.mean_wait + queue.expected.value_or(Duration(0)));
    if (recent_ && queue.recent_response)
      average = (average + ToSeconds(*queue.recent_response)) / 2;
    return std::max(0.0, average - ToSeconds(queue.objective) * (1 - alpha_));
  }

  double alpha_;
  bool recent_;
};

}  // namespace

DispatchInfo H1Dispatch() {
  return {.name = "h1",
          .summary = "the service whose waiting requests are nearest to its SLA, or past it",
          .source = "Baresi, Quattrocchi, Rasi, ICSOC 2021, its code: HEURISTIC_1",
          .parameters = kH1Parameters,
          .needs_objective = true,
          .make = [](const Parameters& parameters, const Random&) {
            return std::make_unique<H1>(NumberOf(parameters, "alpha"),
                                        parameters.at("recent") == "on");
          }};
}

}  // namespace cosched
