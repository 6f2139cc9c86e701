#pragma once
// stages.csv of a cell: every stage of every pipeline at every sampling instant. Used by CellRecords.

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "experiments/records/rows.h"
#include "experiments/records/table.h"
#include "experiments/wire/tenant_spec.h"

namespace cosched {

class StageRecords {
 public:
  // Makes the file. Throws OutputError, as the others do.
  StageRecords(const std::filesystem::path& folder, bool gzip, size_t buffer)
      : file_(folder, gzip, buffer) {}

  void Add(JobId job, std::vector<std::string> stages);  // The job is a pipeline with these stages.
  void Write(const TenantSample& sample);                // Nothing of a job that was not added.
  void Sync() { file_.Sync(); }

 private:
  RowWriter<StageRow> file_;
  std::map<JobId, std::vector<std::string>> stages_;
};

}  // namespace cosched
