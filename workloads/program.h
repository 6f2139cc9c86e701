#pragma once
// A model's graph for one mode and one batch size, and the session that runs it. Every graph that
// trains or infers with a model is made here, so inference graphs are optimised in one place; only
// services, whose graphs hold many batch sizes, have their own (batch_networks.h). Called by
// training jobs and the engine's benchmark. As thread-safe as a session.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/session/session.h"
#include "workloads/model.h"
#include "workloads/program_spec.h"

namespace cosched {

struct ProgramSettings {
  Mode mode = Mode::kInfer;
  int batch = 1;                  // At least 1.
  uint64_t seed = 1;              // Seeds the initial weights, if they do not come from a file.
  std::string weights_file = {};  // See workloads/weights_file.h; "": none.
  // For inference: the weights stay variables, for a caller that sets them later; else they are
  // constants and the graph is optimised (engine/graph/optimizer.h).
  bool keeps_variables = false;
  Precision precision = Precision::kFloat;
  SessionOptions session = {};
};

class ModelProgram {
 public:
  static constexpr char kImages[] =
      "images";  // Placeholders: float [batch, height, width, channels]
  static constexpr char kLabels[] =
      "labels";  // … and, when training, int32: one for each row of the scores.

  // Throws InputError where the weights' file is bad or of another model, and for a precision that
  // this CPU does not have.
  ModelProgram(const ModelInfo& model, const ProgramSettings& settings);
  ModelProgram(const ModelProgram&) = delete;
  ModelProgram& operator=(const ModelProgram&) = delete;

  // Scores first; when training, then the loss and the update of the weights.
  const std::vector<std::string>& fetches() const { return fetches_; }
  const Graph& graph() const { return graph_; }
  int64_t Rows() const { return rows_; }  // Rows of the scores: one an image, or one a pixel.
  Session& session() { return *session_; }

 private:
  Graph graph_;  // The session refers to it.
  std::unique_ptr<Session> session_;
  std::vector<std::string> fetches_;
  int64_t rows_ = 0;
};

}  // namespace cosched
