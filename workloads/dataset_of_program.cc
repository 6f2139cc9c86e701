#include "workloads/dataset_of_program.h"

#include "engine/base/error.h"

namespace cosched {

std::unique_ptr<Dataset> OpenDatasetOf(const ProgramSpec& program, const ModelInfo& model) {
  auto dataset = OpenDataset(program.dataset, program.data_directory, model.image, model.classes,
                             program.seed);
  if (dataset->ImageShape() == model.image) return dataset;
  throw InputError(
      {.key = "dataset",
       .problem = dataset->ImageShape().ToString() + " images do not fit the model " + model.name,
       .allowed = model.image.ToString() + " images"});
}

}  // namespace cosched
