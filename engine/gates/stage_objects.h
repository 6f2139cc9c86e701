#pragma once
// The objects of a pipeline's stages that have no call at the moment, kept for later ones: of the
// lanes of a Pipeline, and of those of another rank. Thread-safe.

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/gates/item.h"
#include "engine/gates/stage.h"

namespace cosched {

class StageObjects {
 public:
  // In the order of the stages.
  explicit StageObjects(std::vector<StageFactory> factories);

  size_t Stages() const { return factories_.size(); }
  // One that has no call; made if there is none, of which it throws what that throws.
  std::unique_ptr<Stage> Take(size_t stage);
  void GiveBack(size_t stage, std::unique_ptr<Stage> object);

 private:
  const std::vector<StageFactory> factories_;
  std::mutex mutex_;
  std::vector<std::vector<std::unique_ptr<Stage>>> free_;  // By stage.
};

// Of the exception that is being handled: why a request failed. REQUIRES: in a handler.
StageFailure WhyStageThrew();

}  // namespace cosched
