#pragma once
// One CNN program: a model, its data and a session, run step by step; training (momentum SGD) or
// inference (batches from a data set as fast as they come). Called by the tenant and by tests.
// Step() on one thread; session().Resize from any.

#include <cstdint>
#include <memory>
#include <string>

#include "engine/session/session.h"
#include "workloads/dataset.h"
#include "workloads/program.h"

namespace cosched {

struct JobSettings : ProgramSpec {
  int64_t first_image = 0;  // The part of the data set that is read: so many images from here,
  int64_t images = 0;       // or all that follow, if 0.
  std::string weights_file = {};  // To start from (workloads/weights_file.h); "": the seed's.
  SessionOptions session = {};    // The threads; the program's part is taken from the program.
};

struct StepResult {
  double loss = 0;          // Mean over the batch; 0 for inference.
  int64_t correct = 0;      // Right predictions in this batch.
  int64_t predictions = 0;  // A prediction an image, or one a pixel.
  int images = 0;
};

class TrainingJob {
 public:
  // Throws InputError for an unknown model, a data set that does not fit it, images that the set
  // does not have, a batch < 1 or larger than the data set, or a bad file of weights.
  explicit TrainingJob(const JobSettings& settings);
  // Trains or infers on a data set given by the caller (kept by reference) instead of
  // settings.dataset.
  TrainingJob(const JobSettings& settings, const Dataset& dataset);
  ~TrainingJob();

  // One batch. Images are drawn in a seeded order, a new permutation each epoch: the same at any
  // number of threads. What is left of an epoch, less than a batch, is skipped.
  StepResult Step();
  int64_t StepsDone() const;
  // Share of right predictions over a whole data set, with inference batch norm. Between steps
  // only. Runs in a session of its own when training, which takes the job's cores before each
  // batch.
  double Accuracy(const Dataset& dataset);
  // What the model has learnt, without the momentum. REQUIRES: a training job. Between steps only.
  // Throws OutputError if the file can't be written.
  void SaveWeights(const std::string& file);

  Session& session();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cosched
