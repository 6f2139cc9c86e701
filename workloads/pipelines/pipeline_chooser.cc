#include "workloads/pipelines/pipeline_chooser.h"

#include <algorithm>

namespace cosched {

PipelineChooser::PipelineChooser(Split capacity, int most_open)
    // Any two calls may run side by side, so as many inter-op threads as there are can be of use.
    : chooser_(capacity.inter, capacity, most_open) {}

std::optional<PipelineChooser::Arrangement> PipelineChooser::Answered(const Answer& answer,
                                                                      const CpuSet& cores,
                                                                      const Arrangement& has,
                                                                      TimePoint now) {
  if (MustChange(cores, has, now)) return should_;
  Count(answer);
  // What it counted may have ended a visit.
  if (MustChange(cores, has, now)) return should_;
  return std::nullopt;
}

bool PipelineChooser::MustChange(const CpuSet& cores, const Arrangement& has, TimePoint now) {
  const Split split = chooser_.Next(cores.Count());
  const Arrangement should{split, chooser_.Open()};
  const bool as_it_should = has == should && cores == cores_;
  if (should != should_ || !as_it_should) {
    should_ = should;
    cores_ = cores;
    since_ = now;
    begun_.reset();
  }
  return !as_it_should;
}

void PipelineChooser::Count(const Answer& answer) {
  if (answer.admitted < since_) return;
  if (answer.failed) {
    begun_.reset();
    return;
  }
  if (!begun_) {
    begun_ = answer.ended;
    answers_ = 0;
    inside_ = {};
    return;
  }
  ++answers_;
  inside_ += answer.ended - answer.admitted;
  if (answers_ < should_.open) return;
  const Duration apart = answer.ended - *begun_;
  chooser_.Note(ToSeconds(std::min(inside_, apart)) / answers_);
  begun_.reset();
}

}  // namespace cosched
