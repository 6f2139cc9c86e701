// What it costs to choose the service whose request a server takes next, which is done for every
// request that several services' servers have a choice about. All services have requests waiting.
//
//   next/NAME/N       Dispatch::Next among N services (policies/dispatch/dispatch.h): the target is
//                     1 us among 64.
//   choice/NAME/N     with the looks at the N front queues before it, as the harness's dispatcher
//                     makes them (experiments/harness/dispatcher.h): p99 below 5 us among 64.
//   max_element/N     what choosing costs at least: the longest queue, by the standard library.
//   look_and_max_element/N   the same with the looks.
//
// Each choice is timed by itself and the queues change between them: p50_ns and p99_ns are its
// quantiles, in which the clock's own cost is (nearly all of max_element/1).

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include "experiments/harness/front_queue.h"
#include "policies/dispatch/dispatches.h"
#include "tests/bench/quantile.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;

constexpr int kChoices = 20'000;
constexpr uint64_t kMostWaiting = 8;  // In a queue at the begin.
const ServerId kServer = DeviceId{0};

// The front queues of a device's services, as the dispatcher keeps and shows them.
class Backlog {
 public:
  explicit Backlog(int64_t services) : services_(static_cast<size_t>(services)) {
    for (Service& service : services_) {
      service.objective = milliseconds(100 + random_.Below(400));
      service.unit_response = milliseconds(10 + random_.Below(150));
      for (uint64_t count = 1 + random_.Below(kMostWaiting); count > 0; --count) Arrive(&service);
    }
  }

  TimePoint Now() const { return now_; }
  const std::vector<QueueView>& Views() const { return views_; }  // Of the last look.

  const std::vector<QueueView>& Look() {
    views_.clear();
    for (size_t i = 0; i < services_.size(); ++i) {
      const Service& service = services_[i];
      QueueView& view = views_.emplace_back(service.queue.View({static_cast<int64_t>(i)}, now_));
      view.objective = service.objective;
      view.expected = FromSeconds(service.queue.Front().work * ToSeconds(service.unit_response));
    }
    return views_;
  }

  // The server takes that request, and as it does, some service gets another one.
  void Take(size_t index) {
    Service& service = services_[index];
    now_ += milliseconds(1);
    service.queue.Pop();
    service.queue.Answered(service.unit_response + milliseconds(random_.Below(50)));
    Arrive(service.queue.Empty() ? &service : &services_[random_.Below(services_.size())]);
  }

 private:
  struct Service {
    FrontQueue queue;
    Duration objective{0}, unit_response{0};
  };

  void Arrive(Service* service) {
    now_ += std::chrono::microseconds(random_.Below(1000));
    service->queue.Push({.id = next_id_++,
                         .due = now_,
                         .taken = now_,
                         .work = 0.5 + random_.Uniform(),
                         .slo = service->objective});
  }

  Random random_{1};
  int64_t next_id_ = 0;
  TimePoint now_{std::chrono::seconds(100)};
  std::deque<Service> services_;
  std::vector<QueueView> views_;
};

// choose(views, now) gives an index. with_looks: they are timed too.
template <typename Choose>
void TimeChoices(benchmark::State& state, bool with_looks, Choose choose) {
  using SteadyClock = std::chrono::steady_clock;
  Backlog backlog(state.range(0));
  std::vector<double> nanoseconds;
  for (auto unused : state) {
    if (!with_looks) benchmark::DoNotOptimize(backlog.Look().data());
    const SteadyClock::time_point start = SteadyClock::now();
    const std::vector<QueueView>& views = with_looks ? backlog.Look() : backlog.Views();
    const size_t choice = choose(views, backlog.Now());
    const std::chrono::duration<double, std::nano> took = SteadyClock::now() - start;
    backlog.Take(choice);
    nanoseconds.push_back(took.count());
    state.SetIterationTime(took.count() * 1e-9);
  }
  state.counters["p50_ns"] = Quantile(nanoseconds, 0.5);
  state.counters["p99_ns"] = Quantile(nanoseconds, 0.99);
}

void TimeDispatch(benchmark::State& state, bool with_looks, const DispatchInfo& info) {
  const std::unique_ptr<Dispatch> dispatch = MakeDispatch(info, {}, Random(1));
  TimeChoices(state, with_looks, [&](const std::vector<QueueView>& views, TimePoint now) {
    return dispatch->Next(views, kServer, now);
  });
}

void TimeMaxElement(benchmark::State& state, bool with_looks) {
  TimeChoices(state, with_looks, [](const std::vector<QueueView>& views, TimePoint) {
    const auto longest = std::max_element(
        views.begin(), views.end(),
        [](const QueueView& one, const QueueView& other) { return one.length < other.length; });
    return static_cast<size_t>(longest - views.begin());
  });
}

void RegisterAll() {
  const auto of_services = [](benchmark::internal::Benchmark* one) {
    one->Arg(1)->Arg(8)->Arg(64)->Arg(512)->UseManualTime()->Iterations(kChoices);
  };
  for (const bool with_looks : {false, true}) {
    of_services(benchmark::RegisterBenchmark(with_looks ? "look_and_max_element" : "max_element",
                                             TimeMaxElement, with_looks));
    for (const DispatchInfo& info : Dispatches()) {
      const std::string name = (with_looks ? "choice/" : "next/") + std::string(info.name);
      of_services(benchmark::RegisterBenchmark(
          name.c_str(),
          [with_looks, &info](benchmark::State& state) { TimeDispatch(state, with_looks, info); }));
    }
  }
}

}  // namespace
}  // namespace cosched

int main(int argc, char** argv) {
  cosched::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
