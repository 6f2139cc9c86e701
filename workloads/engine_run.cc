#include "workloads/engine_run.h"

#include <algorithm>

#include "engine/base/random.h"
#include "workloads/auto_split.h"

namespace cosched {
namespace {

SessionOptions OptionsOf(const EngineCell& cell, const Topology& topology) {
  SessionOptions options;
  options.inter_op_parallelism_threads = std::max(cell.split.inter, cell.capacity.inter);
  options.intra_op_parallelism_threads = std::max(cell.split.intra, cell.capacity.intra);
  if (cell.bound) {
    options.binding = ThreadPools::Binding::kEachToItsCore;
    options.topology = &topology;
  }
  return SessionOf(cell, options);
}

Feeds RandomBatch(const ModelInfo& model, Mode mode, int batch, int64_t rows) {
  Tensor images({batch, model.image[0], model.image[1], model.image[2]});
  Random random(1);
  for (int64_t i = 0; i < images.Elements(); ++i) {
    images.Floats()[i] = static_cast<float>(random.Uniform(-1, 1));
  }
  Feeds feeds = {{ModelProgram::kImages, images}};
  if (mode == Mode::kTrain) {
    Tensor labels({rows}, DataType::kInt32);
    for (int64_t i = 0; i < rows; ++i) labels.Ints()[i] = static_cast<int32_t>(i % model.classes);
    feeds.emplace_back(ModelProgram::kLabels, labels);
  }
  return feeds;
}

}  // namespace

EngineRun::EngineRun(const EngineCell& cell, const Topology& topology) {
  {
    // Gone before the first step: weights are packed then, and a model file would keep them, too.
    const std::shared_ptr<const ModelInfo> model = OpenModel(cell.model);
    program_ = std::make_unique<ModelProgram>(
        *model, ProgramSettings{.mode = cell.mode,
                                .batch = cell.batch,
                                .precision = cell.precision,
                                .session = OptionsOf(cell, topology)});
    feeds_ = RandomBatch(*model, cell.mode, cell.batch, program_->Rows());
  }
  program_->session().Resize(cell.cores, cell.split);
  Step();  // Creates the kernels, and touches all memory.
  Step();
  if (cell.auto_split) ChooseSplit();
}

Split EngineRun::ChooseSplit() {
  AutoSplit choice(&session(), GraphWidth());
  while (!choice.Settled()) {
    choice.BeginStep();
    Step();
    choice.EndStep();
  }
  session().Resize({.inter = choice.Chosen().inter, .intra = choice.Chosen().intra});
  return choice.Chosen();
}

}  // namespace cosched
