#pragma once
// A pipeline that is cut for several machines, as Pipelined TensorFlow's are (Whitlock et al.,
// section 3): what is between a gate that makes partitions and the one that joins them is a pipeline
// of its own on each machine, with its own gates and credits, and a partition is a request of it.
// The rest is one pipeline over all machines, in which that section is one stage: a call of it is a
// partition, which begins where there is room for an item behind the section, as any call. Pure.

#include <vector>

#include "engine/gates/pipeline_spec.h"

namespace cosched {

struct LocalPipelines {
  struct Section {
    int first = 0, end = 0;  // Stages of the whole pipeline.
    PipelineSpec spec = {};
  };
  PipelineSpec outer = {};
  std::vector<int> first = {};       // By stage of `outer`: the stage, or the section's first one.
  std::vector<int> section_of = {};  // By stage of `outer`: -1 if it is none.
  std::vector<Section> sections = {};
};

// Partitions of partitions stay in their section. Throws InputError as PipelineLayout does.
LocalPipelines CutLocalPipelines(const PipelineSpec& spec);

}  // namespace cosched
