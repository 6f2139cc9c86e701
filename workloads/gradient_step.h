#pragma once
// The loss and every gradient of one training step, for comparison with another backend or another
// framework (experiments/peers/compare_gradients.py). Called by the `gradients` command and by
// tests. Run on one thread; session().Resize from any.

#include <memory>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "workloads/model.h"
#include "workloads/weights_file.h"

namespace cosched {

class GradientStep {
 public:
  // `inputs`: "images" [N,H,W,C], "labels" (int32, one for each row of the logits) and the model's
  // variables, or none of those: then the initial ones of seed 1. Throws InputError, naming
  // `file`, for what is missing or does not fit.
  GradientStep(const ModelInfo& model, const NamedTensors& inputs, const std::string& file,
               const SessionOptions& options);
  GradientStep(const GradientStep&) = delete;
  GradientStep& operator=(const GradientStep&) = delete;

  // In training mode: "loss", "logits" and, by name, the gradient of each variable that the loss
  // depends on. No variable changes.
  NamedTensors Run();
  // What BiasAdds and batch norms gave in Run, by layer: the name of the variable that they add,
  // "conv1/bias", without "/bias" or "/offset" (where several nodes add one, the first's). From
  // them follow the step's decisions: which ReLUs are on, which element a MaxPool takes.
  NamedTensors LayerOutputs();
  Session& session() { return *session_; }

 private:
  void Build(const ModelInfo& model, const NamedTensors& weights, const std::string& file);

  struct Fetches {
    std::vector<std::string> names, fetches;
    void Add(const std::string& name, Output output, const Graph& graph);
  };
  NamedTensors Fetch(const Fetches& fetches);

  Graph graph_;  // The session refers to it.
  Feeds feeds_;  // Images, labels.
  Fetches step_, layers_;
  std::unique_ptr<Session> session_;
};

}  // namespace cosched
