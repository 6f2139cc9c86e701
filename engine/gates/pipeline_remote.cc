#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/gates/pipeline_impl.h"

namespace cosched {

// What follows from a change, by a thread that is no lane. The pipeline is not over before its answers
// are given.
void Pipeline::Impl::AnswerRemotely(std::unique_lock<std::mutex> lock) {
  ++remote_answers;
  std::vector<PipelineResult> results = Follow();
  lock.unlock();
  Answer(std::move(results));
  lock.lock();
  --remote_answers;
  if (IsOver()) Wake();
}

std::optional<RemoteCall> Pipeline::Impl::TakeRemote(const std::vector<int>& stages) {
  std::unique_lock lock(mutex);
  if (MustEnd()) return std::nullopt;
  if (std::optional<RemoteCall> call = TakeReturned(stages)) return call;
  std::optional<PipelineState::Call> next;
  for (auto stage = stages.rbegin(); stage != stages.rend() && !next; ++stage) {
    next = state.BeginOf(*stage);
  }
  if (!next) return std::nullopt;
  auto call = std::make_unique<Call>(this, *std::move(next), LaneKind::kComputes);
  const RemoteCall taken{call->Id(), static_cast<int>(call->StageIndex()), &call->Batch()};
  remote.emplace(call->Id(), std::move(call));
  AnswerRemotely(std::move(lock));
  return taken;
}

std::optional<RemoteCall> Pipeline::Impl::TakeReturned(const std::vector<int>& stages) {
  const auto found = std::ranges::find_if(returned, [&](const std::unique_ptr<Call>& call) {
    return std::ranges::find(stages, static_cast<int>(call->StageIndex())) != stages.end();
  });
  if (found == returned.end()) return std::nullopt;
  std::unique_ptr<Call> call = std::move(*found);
  returned.erase(found);
  const RemoteCall taken{call->Id(), static_cast<int>(call->StageIndex()), &call->Batch()};
  remote.emplace(taken.id, std::move(call));
  if (state.Cancelled(taken.id)) TellRemote();
  return taken;
}

// Where there is no room for what it made it is parked, and ended by the lane that is given it then.
void Pipeline::Impl::EndRemote(RemoteEnd end) {
  std::unique_lock lock(mutex);
  auto node = remote.extract(end.id);
  if (node.empty()) return;
  std::unique_ptr<Call> call = std::move(node.mapped());
  lock.unlock();
  // What the batch held is gone, files too, when the request has its answer.
  call->Batch().items.clear();
  call->more = false;
  call->busy = end.busy;
  if (auto* const failure = std::get_if<StageFailure>(&end.outcome))
    call->why = std::move(*failure);
  auto* const made = std::get_if<Payload>(&end.outcome);
  lock.lock();
  if (made == nullptr && !call->why && !state.Cancelled(call->Id()))
    call->why = StageFailure{.why = "it ended on another rank without what it makes"};
  if (made != nullptr && !state.Emit(call->Id(), std::move(*made))) {
    call->kept.push_back(std::move(*made));
    state.Park(call->Id());
    parked.emplace(end.id, std::move(call));
  } else {
    end.outcome = {};  // What nobody waits for was not taken.
    EndCall(call.get());
  }
  AnswerRemotely(std::move(lock));
}

void Pipeline::OnRemoteNews(RemoteNews news) {
  const std::lock_guard lock(impl_->mutex);
  impl_->remote_news = std::move(news);
}

std::optional<RemoteCall> Pipeline::TakeRemote(const std::vector<int>& stages) {
  return impl_->TakeRemote(stages);
}

void Pipeline::EndRemote(RemoteEnd end) { impl_->EndRemote(std::move(end)); }

void Pipeline::ReturnRemote(int64_t call) {
  const std::lock_guard lock(impl_->mutex);
  auto node = impl_->remote.extract(call);
  if (node.empty()) return;
  impl_->returned.push_back(std::move(node.mapped()));
  impl_->Wake();
}

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
