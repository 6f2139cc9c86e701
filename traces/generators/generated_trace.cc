#include "traces/generators/generated_trace.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "engine/base/check.h"
#include "traces/generators/generated_clock.h"

namespace cosched {
namespace {

constexpr double kMaxSize = 0x1p62;

std::optional<Sampler> SamplerOf(const std::optional<Distribution>& distribution) {
  if (!distribution) return std::nullopt;
  return Sampler(*distribution);
}

}  // namespace

// A generator and its next arrival.
class GeneratedTrace::Source {
 public:
  Source(GeneratorSpec spec, size_t number, const Random& random)
      : spec_(std::move(spec)),
        number_(number),
        process_(MakeProcess(spec_.process, random)),
        size_(SamplerOf(spec_.size)),
        duration_(SamplerOf(spec_.duration)),
        sizes_(random.Derive("sizes")),
        durations_(random.Derive("durations")) {
    CHECK(spec_.weight > 0);
    cells_.assign(spec_.cells.begin(), spec_.cells.end());
  }

  // False at its end.
  bool Step() {
    if (!process_->Next(&next_)) return false;
    if (spec_.weight != 1) {
      const double scaled = static_cast<double>(next_.time.count()) / spec_.weight;
      if (!(scaled <= static_cast<double>(kLongestTrace.count()))) return false;
      next_.time = Duration(static_cast<int64_t>(scaled));
    }
    return true;
  }

  Duration Time() const { return next_.time; }
  bool Before(const Source& other) const {
    return Time() != other.Time() ? Time() < other.Time() : number_ < other.number_;
  }

  void Tell(Arrival* arrival) {
    *arrival = {.time = next_.time,
                .kind = spec_.kind,
                .tenant = spec_.tenant,
                .size = {},
                .duration = next_.service,
                .cores_min = spec_.cores_min,
                .cores_preferred = spec_.cores_preferred,
                .cores_max = spec_.cores_max,
                .deadline = spec_.deadline,
                .priority = spec_.priority,
                .attributes = cells_};
    if (size_) {
      arrival->size =
          static_cast<int64_t>(std::min(kMaxSize, std::floor(size_->Draw(sizes_) + 0.5)));
    }
    if (duration_) {
      const double drawn = duration_->Draw(durations_) * kNanosecondsPerSecond;
      arrival->duration = Duration(static_cast<int64_t>(std::min(kMaxSize, drawn)));
    }
  }

 private:
  GeneratorSpec spec_;
  size_t number_;
  std::unique_ptr<ArrivalProcess> process_;
  ProcessArrival next_;
  std::optional<Sampler> size_;
  std::optional<Sampler> duration_;
  Random sizes_;
  Random durations_;
  std::vector<std::string_view> cells_;  // What the arrival's attributes show.
};

GeneratedTrace::GeneratedTrace(std::vector<std::string> columns,
                               std::vector<GeneratorSpec> generators, const TraceLimits& limits,
                               uint64_t seed)
    : limits_(limits), columns_(std::move(columns)) {
  for (GeneratorSpec& generator : generators) {
    CHECK(generator.cells.size() == columns_.size());
    const size_t number = sources_.size();
    const Random random = Random(seed).Derive("generator").Derive(std::to_string(number));
    sources_.push_back(std::make_unique<Source>(std::move(generator), number, random));
    if (sources_.back()->Step()) heap_.push_back(sources_.back().get());
  }
  std::sort(heap_.begin(), heap_.end(),
            [](const Source* a, const Source* b) { return a->Before(*b); });
}

GeneratedTrace::~GeneratedTrace() = default;

bool GeneratedTrace::Next(Arrival* arrival) {
  if (heap_.empty()) return false;
  Source& next = *heap_.front();
  if (limits_.arrivals && drawn_ >= *limits_.arrivals) return false;
  if (limits_.length && next.Time() >= *limits_.length) return false;
  next.Tell(arrival);
  ++drawn_;
  if (!next.Step()) {
    heap_.front() = heap_.back();
    heap_.pop_back();
  }
  if (heap_.size() > 1) SiftDown();
  return true;
}

// The first of the heap comes later than before.
void GeneratedTrace::SiftDown() {
  size_t parent = 0;
  while (true) {
    size_t child = 2 * parent + 1;
    if (child >= heap_.size()) return;
    if (child + 1 < heap_.size() && heap_[child + 1]->Before(*heap_[child])) ++child;
    if (!heap_[child]->Before(*heap_[parent])) return;
    std::swap(heap_[child], heap_[parent]);
    parent = child;
  }
}

}  // namespace cosched
