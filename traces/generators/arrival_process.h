#pragma once
// Where the times of arrival come from: one process per .cc, each given by a plain specification
// and made by MakeProcess. Used by generated_trace.h and by the readers of settings. Streaming:
// memory does not grow with the number of arrivals. Equal specifications and seeds give equal
// arrivals on every platform. Not thread-safe; two processes share nothing.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/random.h"
#include "traces/generators/distribution.h"

namespace cosched {

// A renewal process: independent gaps, in seconds. Exponential ones make it a Poisson process.
struct RenewalSpec {
  Distribution gap;
};

// Markov-modulated Poisson process (Fischer and Meier-Hellstern, "The MMPP cookbook", Performance
// Evaluation 18, 1993): Poisson arrivals at the rate of a state that itself changes as a continuous
// Markov chain. It begins in a state drawn from the chain's stationary distribution.
struct MmppSpec {
  struct State {
    double rate_per_s = 0;
    double mean_stay_s = 1;
  };
  std::vector<State> states;  // 2 or more.
  // Probabilities of the next state, a row a state, each with the sum 1 and 0 on the diagonal.
  // Empty: each is followed by the next one, the last by the first.
  std::vector<std::vector<double>> transitions;
};

// Rate over time, repeated after its period.
struct RateFunction {
  enum class Shape {
    kLinear,  // Straight between points; the last one leads to the first, a period later.
    kSteps,   // A point's rate holds until the next point.
    kSine,    // mean + amplitude cos(2 pi (t - peak) / period).
  };
  struct Point {
    double at_s = 0;
    double rate_per_s = 0;
  };
  Shape shape = Shape::kLinear;
  double period_s = 86'400;
  std::vector<Point> points;  // In order of time, the first at 0; of kLinear and kSteps.
  double mean_per_s = 0;      // These of kSine.
  double amplitude_per_s = 0;
  double peak_s = 0;
};

// Non-homogeneous Poisson process by thinning (Lewis and Shedler, 1979), piece by piece of its
// rate.
struct DiurnalSpec {
  RateFunction rate;
};

// Groups of arrivals: a pause, a burst, a pause, … The pause is from a burst's last arrival to the
// next one's first.
struct BurstsSpec {
  Distribution pause;     // In seconds.
  double mean_size = 1;   // Arrivals of a burst, >= 1.
  bool geometric = true;  // Else each has mean_size, which is whole.
  double gap_s = 0;       // Between two arrivals of a burst; 0 = at once.
};

// Users who each wait for their answer, think, and come again; whoever comes is served at once, for
// the given time, whatever the load. So a trace of it is what an undisturbed system would have
// seen: replayed as a file it is open, and does not slow down with the system under test.
struct ClosedLoopSpec {
  int users = 1;
  Distribution service;  // In seconds, told with each arrival.
  Distribution think;    // In seconds.
};

// The scenarios of MLPerf LoadGen (Reddi et al., "MLPerf Inference Benchmark", ISCA 2020).
struct LoadGenSpec {
  enum class Scenario {
    kSingleStream,  // The next query is issued when the one before has been answered.
    kMultiStream,   // The same with samples_per_query samples a query.
    kServer,        // Poisson.
    kOffline,       // All samples at once.
  };
  Scenario scenario = Scenario::kServer;
  double target_qps = 1;          // kServer; kOffline: samples = 1.1 x qps x min_duration.
  double latency_s = 0.01;        // A query's latency; kSingleStream, kMultiStream.
  int64_t samples_per_query = 1;  // kMultiStream.
  // A run ends when both are reached: queries (kOffline: samples) and time.
  int64_t min_query_count = 0;
  double min_duration_s = 0;
  // The run ends before that where one of these is reached. 0: never.
  int64_t max_query_count = 0;
  double max_duration_s = 0;
};

bool ParseScenario(std::string_view text, LoadGenSpec::Scenario* result);  // "SingleStream", …
std::string_view ToString(LoadGenSpec::Scenario scenario);
std::string ScenarioNames();  // For messages.

using ProcessSpec =
    std::variant<RenewalSpec, MmppSpec, DiurnalSpec, BurstsSpec, ClosedLoopSpec, LoadGenSpec>;

struct ProcessArrival {
  Duration time{0};                 // From the process's start.
  std::optional<Duration> service;  // Where the process knows it.
};

class ArrivalProcess {
 public:
  virtual ~ArrivalProcess() = default;
  // The next arrival, never before the one before; false when there is none: the process has ended,
  // or its time is beyond kLongestTrace.
  virtual bool Next(ProcessArrival* arrival) = 0;
};

constexpr Duration kLongestTrace{int64_t{1} << 62};  // 146 years.

// REQUIRES: a specification within the bounds that are told beside its fields.
std::unique_ptr<ArrivalProcess> MakeProcess(const ProcessSpec& spec, const Random& random);

}  // namespace cosched
