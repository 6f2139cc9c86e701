#include "engine/gates/stage_objects.h"

#include <exception>
#include <utility>

#include "engine/base/error.h"

namespace cosched {

StageObjects::StageObjects(std::vector<StageFactory> factories)
    : factories_(std::move(factories)), free_(factories_.size()) {}

std::unique_ptr<Stage> StageObjects::Take(size_t stage) {
  const std::lock_guard lock(mutex_);
  std::vector<std::unique_ptr<Stage>>& free = free_[stage];
  if (free.empty()) return factories_[stage]();
  std::unique_ptr<Stage> object = std::move(free.back());
  free.pop_back();
  return object;
}

void StageObjects::GiveBack(size_t stage, std::unique_ptr<Stage> object) {
  const std::lock_guard lock(mutex_);
  free_[stage].push_back(std::move(object));
}

StageFailure WhyStageThrew() {
  try {
    throw;
  } catch (const InputError& error) {
    return {.why = error.what(), .bad_input = true};
  } catch (const std::exception& error) {
    return {.why = error.what()};
  } catch (...) {
    return {.why = "an exception of a type that says nothing"};
  }
}

}  // namespace cosched
