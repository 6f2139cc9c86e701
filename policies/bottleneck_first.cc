// Cores go where one more shortens the longest queue. A pipeline's queue is the work that waits in
// it, in seconds on one core: at each stage that computes, the batches that are ready and the calls
// that run, by the mean time of that stage's calls; and the requests that wait to be admitted, by
// the mean time of a request. A service without stages has the requests in flight, by the CPU time
// of one. Every job has its min, first come, first served; then core after core goes to the queue
// that takes longest on the cores that it has, as long as that is longer than `rest_s`; what is left
// is divided equally among the jobs that answer nobody, and what these can't use among the others.
//
// rest_s is a window's usual length: what is computed sooner is gone before anybody could decide of
// it again. Cores do not swing with each window: queues are means in which each window counts half
// of the one after it, as are the times of calls; and for a core that it has already a queue counts
// as longer by `hysteresis`.

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "policies/queue_order.h"
#include "policies/registry.h"
#include "policies/repartition.h"
#include "policies/running_instances.h"

namespace cosched {
namespace {

constexpr double kFades = 0.5;  // What a window counts beside the one after it.

class MeanCost {
 public:
  void Add(Duration time, int64_t count) {
    if (time == Duration::zero() && count == 0) return;  // What is known stays.
    time_s_ = kFades * time_s_ + ToSeconds(time);
    count_ = kFades * count_ + static_cast<double>(count);
  }
  // Of one; until one is over, what has been spent.
  double Seconds() const { return count_ > 0 ? time_s_ / count_ : time_s_; }

 private:
  double time_s_ = 0, count_ = 0;
};

// The work that waits for one job.
class Backlog {
 public:
  // queued: requests in front of all servers that will be this one's.
  void Listen(const ServerWindow& window, double queued) {
    const double now_s =
        window.stages.empty() ? OfRequests(window, queued) : OfStages(window, queued);
    seconds_ = heard_ ? kFades * seconds_ + (1 - kFades) * now_s : now_s;
    heard_ = true;
  }
  double Seconds() const { return seconds_; }  // On one core.

 private:
  double OfRequests(const ServerWindow& window, double queued) {
    request_.Add(window.cpu_time, window.answered);
    return (static_cast<double>(window.in_flight) + queued) * request_.Seconds();
  }
  double OfStages(const ServerWindow& window, double queued) {
    calls_.resize(window.stages.size());
    Duration busy{0};
    double work_s = 0;
    for (size_t i = 0; i < window.stages.size(); ++i) {
      const StageWindow& stage = window.stages[i];
      if (stage.waits) continue;
      busy += stage.busy;
      calls_[i].Add(stage.busy, stage.calls);
      work_s += static_cast<double>(stage.ready + stage.running) * calls_[i].Seconds();
    }
    request_.Add(busy, window.answered);
    const int64_t outside = std::max<int64_t>(0, window.in_flight - window.open);
    return work_s + (static_cast<double>(outside) + queued) * request_.Seconds();
  }

  MeanCost request_;
  std::vector<MeanCost> calls_;  // By stage.
  double seconds_ = 0;
  bool heard_ = false;
};

class BottleneckFirst final : public Policy {
 public:
  BottleneckFirst(double rest_s, double hysteresis) : rest_s_(rest_s), hysteresis_(hysteresis) {}

  Allocation Decide(const MachineView& view, const Event& event) override {
    if (std::holds_alternative<WindowOver>(event)) {
      Listen(view);
    } else if (!ChangesQueue(event)) {
      return {};
    }
    int left = 0;
    const std::vector<const JobView*> jobs = RunningAndNext(view, &left);
    std::vector<int> cores;
    cores.reserve(jobs.size());
    for (const JobView* job : jobs) cores.push_back(job->request.min);
    left = GiveToLongest(jobs, left, &cores);
    for (const bool answers : {false, true}) left = GiveEqually(jobs, answers, left, &cores);
    Allocation allocation;
    for (size_t i = 0; i < jobs.size(); ++i) GiveCores(*jobs[i], cores[i], &allocation);
    return allocation;
  }

 private:
  void Listen(const MachineView& view) {
    std::erase_if(backlogs_, [&](const auto& one) { return view.Find(one.first) == nullptr; });
    ForEachRunningInstance(
        view, [&](const JobView& job, const ServiceView& service, const ServerWindow& window) {
          const auto servers = static_cast<double>(service.servers.size());
          backlogs_[job.id].Listen(window, static_cast<double>(service.queued) / servers);
        });
  }

  // How long the queue takes on so many cores, as it counts for the next one.
  double Length(const JobView& job, int cores) const {
    const auto found = backlogs_.find(job.id);
    if (found == backlogs_.end()) return 0;
    const double length_s = found->second.Seconds() / cores;
    return cores < job.cores.Count() ? (1 + hysteresis_) * length_s : length_s;
  }

  // Returns what is left.
  int GiveToLongest(const std::vector<const JobView*>& jobs, int left,
                    std::vector<int>* cores) const {
    // By length; the first of the list among equals.
    std::priority_queue<std::pair<double, int>> queues;
    const auto line_up = [&](int index) {
      const JobView& job = *jobs[static_cast<size_t>(index)];
      const int has = (*cores)[static_cast<size_t>(index)];
      const double length_s = Length(job, has);
      if (has < UsefulCores(job) && length_s > rest_s_) queues.emplace(length_s, -index);
    };
    for (size_t i = 0; i < jobs.size(); ++i) line_up(static_cast<int>(i));
    for (; left > 0 && !queues.empty(); --left) {
      const int index = -queues.top().second;
      queues.pop();
      ++(*cores)[static_cast<size_t>(index)];
      line_up(index);
    }
    return left;
  }

  // Among the jobs that answer requests, or those that do not; returns what is left.
  static int GiveEqually(const std::vector<const JobView*>& jobs, bool answering, int left,
                         std::vector<int>* cores) {
    std::vector<size_t> takers;
    std::vector<CoreBounds> bounds;
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (jobs[i]->service.has_value() != answering) continue;
      takers.push_back(i);
      bounds.push_back({(*cores)[i], std::max((*cores)[i], UsefulCores(*jobs[i]))});
    }
    const std::vector<int> given = DivideEqually(bounds, left);
    for (size_t i = 0; i < takers.size(); ++i)
      left -= given[i] - std::exchange((*cores)[takers[i]], given[i]);
    return left;
  }

  const double rest_s_, hysteresis_;
  std::map<JobId, Backlog> backlogs_;
};

constexpr std::array<PolicyParameter, 2> kBottleneckParameters{{
    {"rest_s", "1", "number >= 0 and <= 86400", "a queue that takes no longer gets no more cores"},
    {"hysteresis", "0.5", "number >= 0 and <= 100",
     "by this part a queue counts as longer for cores that it has"},
}};

}  // namespace

PolicyInfo BottleneckFirstPolicy() {
  return {.name = "bottleneck-first",
          .summary =
              "one core after the other to the pipeline or service whose waiting work takes "
              "longest on those that it has; the others share the rest equally",
          .source = "",
          .parameters = kBottleneckParameters,
          .on_settled = false,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            return std::make_unique<BottleneckFirst>(NumberOf(parameters, "rest_s"),
                                                     NumberOf(parameters, "hysteresis"));
          }};
}

}  // namespace cosched
