#pragma once
// [records] of an experiment file: which of a cell's files are written
// (experiments/records/cell_records.h). Plain data.

namespace cosched {

struct RecordsConfig {
  bool grants = true;
  bool decisions = true;
  bool samples = true;  // Off: nobody is sampled, and what is derived from samples is not known.
  bool steps = true;
  bool resizes = true;
  bool actuations = true;
  bool requests = true;  // Requests of services. Off: what is derived from them is not known.
  bool timeline = true;
  bool gzip = false;  // compress = "gzip": each as FILE.gz, but for interference.csv and cell.json.
  // Set by nobody: a large simulated run leaves these two out (experiments/config/sweep.h).
  bool samples_by_default = false;
  bool steps_by_default = false;
};

}  // namespace cosched
