#include "experiments/wire/service_meter.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace cosched {

ServiceWindow ServiceMeter::Take(TimePoint now, int64_t queued) {
  ServiceWindow window{.length = now - std::exchange(begin_, now),
                       .arrived = std::exchange(arrived_, 0),
                       .served = static_cast<int64_t>(responses_.size()),
                       .queued = queued};
  std::vector<Duration> responses = std::exchange(responses_, {});
  if (responses.empty()) return window;
  const auto sum = std::accumulate(responses.begin(), responses.end(), Duration::zero());
  window.mean_response = sum / static_cast<int64_t>(responses.size());
  const size_t rank = (responses.size() * 95 + 99) / 100 - 1;  // Nearest rank.
  std::nth_element(responses.begin(), responses.begin() + static_cast<int64_t>(rank),
                   responses.end());
  window.p95_response = responses[rank];
  return window;
}

}  // namespace cosched
