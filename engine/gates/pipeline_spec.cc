#include "engine/gates/pipeline_spec.h"

#include "engine/gates/pipeline_layout.h"

namespace cosched {

void Check(const PipelineSpec& spec) { const PipelineLayout layout(spec); }

}  // namespace cosched
