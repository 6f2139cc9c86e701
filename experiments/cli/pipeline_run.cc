#include "experiments/cli/pipeline_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "experiments/cli/typed_option.h"
#include "experiments/os/exit_code.h"
#include "experiments/os/interrupt.h"

namespace cosched {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(100);

double SecondsOf(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// One line that is drawn over, on a terminal only.
class StatusLine {
 public:
  void Show(const std::string& text) const {
    if (!terminal_) return;
    fmt::print(stderr, "\r\x1b[K{}", text);
    std::fflush(stderr);
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
};

}  // namespace

void AddOpenOptions(CLI::App* command, int* open, CreditLink* link) {
  AddNumber(command, "--open", open, 1, kMostOpenRequests, "Requests that are open at once");
  AddChoice(command, "--link", link,
            {{"linear", CreditLink::kLinear}, {"end-to-end", CreditLink::kEndToEnd}},
            "What --open bounds: the requests before each stage, or all that are inside");
}

PipelineRun::PipelineRun(const PipelineProgram& program, const CpuSet& cores,
                         const Topology& topology, RankLink* link)
    : program_(program),
      pipeline_(program.spec, program.stages,
                {.capacity = {cores.Count(), cores.Count()},
                 .binding = ThreadPools::Binding::kEachToItsCore,
                 .topology = &topology},
                [this](PipelineResult result) { Note(std::move(result)); }) {
  // Every core may begin a call of its own; one that has none helps in the others'.
  pipeline_.Pools().Resize(cores, {cores.Count(), cores.Count()});
  if (link != nullptr) remote_.emplace(&pipeline_, link, program.travels);
}

void PipelineRun::Run(int64_t requests, const std::function<std::string()>& status,
                      double last_work) {
  begin_ = std::chrono::steady_clock::now();
  pipeline_.Begin();
  for (int64_t i = 0; i < requests; ++i)
    pipeline_.Submit({i, program_.items(i, i + 1 == requests ? last_work : 1)});
  pipeline_.Drain();
  const StatusLine line;
  while (!WaitForAll(requests) && !pipeline_.Broken()) {
    line.Show(status());
    if (!Interrupted()) continue;
    for (int64_t i = 0; i < requests; ++i) pipeline_.Cancel(i, "interrupted");
  }
  line.Show("");
  pipeline_.WaitUntilOver();
  seconds_ = SecondsSoFar();
  std::ranges::sort(results_, {}, &PipelineResult::number);
}

double PipelineRun::SecondsSoFar() const {
  return SecondsOf(std::chrono::steady_clock::now() - begin_);
}

std::string PipelineRun::StageTable() const {
  const PipelineSample sample = pipeline_.Sample();
  double all = 0;
  for (const PipelineSample::Stage& stage : sample.stages) all += SecondsOf(stage.busy);
  std::string text =
      fmt::format("{:<10} {:>9} {:>9} {:>9} {:>7}\n", "stage", "calls", "items", "busy", "share");
  for (const PipelineSample::Stage& stage : sample.stages) {
    const double busy = SecondsOf(stage.busy);
    text += fmt::format("{:<10} {:>9} {:>9} {:>7.3f} s {:>5.1f} %\n", stage.name, stage.calls,
                        stage.taken, busy, all > 0 ? busy / all * 100 : 0);
  }
  return text;
}

int PipelineRun::TellFailures(const std::function<std::string(int64_t request)>& what) const {
  bool cancelled = false, refused = false, failed = false;
  for (const PipelineResult& result : results_) {
    cancelled = cancelled || result.answer.status == PipelineAnswer::Status::kCancelled;
    if (result.answer.status != PipelineAnswer::Status::kFailed) continue;
    (result.answer.bad_input ? refused : failed) = true;
    fmt::print(stderr, "cosched: {}, {}: {}\n", what(result.number), result.stage,
               result.answer.why);
  }
  if (failed) return kFailed;
  if (refused) return kBadInput;
  return cancelled ? kInterrupted : 0;
}

// On a thread of the pipeline.
void PipelineRun::Note(PipelineResult result) {
  const std::lock_guard lock(mutex_);
  results_.push_back(std::move(result));
  answered_.notify_one();
}

// For as long as the status may stay as it is.
bool PipelineRun::WaitForAll(int64_t requests) {
  std::unique_lock lock(mutex_);
  return answered_.wait_for(lock, kBetweenLooks,
                            [&] { return static_cast<int64_t>(results_.size()) == requests; });
}

}  // namespace cosched
