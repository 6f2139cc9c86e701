#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/gates/pipeline_impl.h"

namespace cosched {

std::optional<RemoteCall> Pipeline::Impl::TakeRemote(const std::vector<int>& stages) {
  std::optional<RemoteCall> taken;
  std::vector<PipelineResult> results;
  {
    const std::lock_guard lock(mutex);
    if (MustEnd()) return std::nullopt;
    std::optional<PipelineState::Call> next;
    for (auto stage = stages.rbegin(); stage != stages.rend() && !next; ++stage) {
      next = state.BeginOf(*stage);
    }
    if (!next) return std::nullopt;
    auto call = std::make_unique<Call>(this, *std::move(next), LaneKind::kComputes);
    taken = {call->Id(), static_cast<int>(call->StageIndex()), &call->Batch()};
    remote.emplace(call->Id(), std::move(call));
    results = Follow();
  }
  Answer(std::move(results));
  return taken;
}

// Where there is no room for what it made it is parked, and ended by the lane that is given it then.
void Pipeline::Impl::EndRemote(RemoteEnd end) {
  std::unique_ptr<Call> call;
  {
    const std::lock_guard lock(mutex);
    auto node = remote.extract(end.id);
    if (node.empty()) return;
    call = std::move(node.mapped());
  }
  call->Batch().items.clear();
  call->more = false;
  call->busy = end.busy;
  std::optional<std::string> why;
  if (std::string* failure = std::get_if<std::string>(&end.outcome)) why = std::move(*failure);
  std::vector<PipelineResult> results;
  {
    const std::lock_guard lock(mutex);
    const bool over = state.Cancelled(call->Id());
    Payload* const made = std::get_if<Payload>(&end.outcome);
    if (made == nullptr && !why && !over) why = "it ended on another rank without what it makes";
    if (made != nullptr && !state.Emit(call->Id(), std::move(*made))) {
      call->kept.push_back(std::move(*made));
      state.Park(call->Id());
      parked.emplace(end.id, std::move(call));
    } else {
      EndCall(call.get(), why);
    }
    results = Follow();
  }
  Answer(std::move(results));
}

void Pipeline::OnRemoteNews(RemoteNews news) {
  const std::lock_guard lock(impl_->mutex);
  impl_->remote_news = std::move(news);
}

std::optional<RemoteCall> Pipeline::TakeRemote(const std::vector<int>& stages) {
  return impl_->TakeRemote(stages);
}

void Pipeline::EndRemote(RemoteEnd end) { impl_->EndRemote(std::move(end)); }

std::vector<int64_t> Pipeline::CancelledRemote() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<int64_t> calls;
  for (const auto& [id, call] : impl_->remote) {
    if (impl_->state.Cancelled(id)) calls.push_back(id);
  }
  return calls;
}

void Pipeline::Break(const std::exception_ptr& error) {
  const std::lock_guard lock(impl_->mutex);
  impl_->broken = true;
  impl_->waiting.WakeAll();
  impl_->computing.Fail(error);
}

bool Pipeline::Broken() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->broken;
}

}  // namespace cosched
