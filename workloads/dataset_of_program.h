#pragma once
// The images that a program's requests are about. Called by whoever answers requests: a service,
// and a modelled device, which reads them as an instance of the service does.

#include <memory>

#include "workloads/dataset.h"
#include "workloads/model.h"
#include "workloads/program_spec.h"

namespace cosched {

// Throws InputError as OpenDataset does, and where the images do not fit the model.
std::unique_ptr<Dataset> OpenDatasetOf(const ProgramSpec& program, const ModelInfo& model);

}  // namespace cosched
