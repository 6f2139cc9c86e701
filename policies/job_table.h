#pragma once
// The jobs of a MachineView, with the orders that policies ask for kept up to date, so that a
// decision costs what it looks at and not what is in flight: Add, Update and Remove take O(log n),
// walking to the next job of an order O(1). Each job knows its places in the orders, so a resize
// touches none and most other changes search none. Copies are deep. Written by the arbiter (and by
// tests), read by policies.

#include <array>
#include <initializer_list>
#include <limits>
#include <map>
#include <unordered_map>

#include "policies/core_counter.h"
#include "policies/job_view.h"

namespace cosched {

enum class QueueOrder {
  kFcfs,      // by submission
  kPriority,  // the more important first, then by submission
};

// Jobs in one of the table's orders; iterates as const JobView&. Valid until the table changes.
class JobSequence {
 public:
  using Key = std::array<int64_t, 2>;
  using Index = std::map<Key, const JobView*>;

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = JobView;
    using difference_type = std::ptrdiff_t;
    using pointer = const JobView*;
    using reference = const JobView&;

    Iterator() = default;
    explicit Iterator(Index::const_iterator at) : at_(at) {}
    reference operator*() const { return *at_->second; }
    pointer operator->() const { return at_->second; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    Index::const_iterator at_;
  };

  explicit JobSequence(const Index& index) : index_(&index) {}
  Iterator begin() const { return Iterator(index_->begin()); }
  Iterator end() const { return Iterator(index_->end()); }
  bool empty() const { return index_->empty(); }
  size_t size() const { return index_->size(); }
  const JobView& front() const { return *index_->begin()->second; }  // REQUIRES: !empty().

 private:
  const Index* index_;
};

class JobTable {
 public:
  JobTable() = default;
  JobTable(std::initializer_list<JobView> jobs);  // In order of submission.
  JobTable(const JobTable& other);
  JobTable& operator=(const JobTable& other);
  JobTable(JobTable&&) = default;
  JobTable& operator=(JobTable&&) = default;

  const JobView* Find(JobId id) const;  // nullptr if it has ended or never was.

  // All, in order of submission.
  JobSequence::Iterator begin() const { return JobSequence(all_).begin(); }
  JobSequence::Iterator end() const { return JobSequence(all_).end(); }
  size_t size() const { return all_.size(); }

  JobSequence Waiting(QueueOrder order = QueueOrder::kFcfs) const;
  JobSequence Running() const { return JobSequence(running_); }  // By start, oldest first.
  JobSequence Paused() const { return JobSequence(paused_); }    // By submission.
  // The first waiting job in that order whose preferred cores are `cores` or fewer; after: only
  // those behind this one. nullptr if there is none. O(different requests).
  const JobView* NextAskingAtMost(int cores, QueueOrder order,
                                  const JobView* after = nullptr) const;
  // Cores that running jobs hold by their latest grants.
  const CpuSet& Held() const { return holders_.Held(); }
  const CoreCounter& Holders() const { return holders_; }  // How many of them hold each core.
  bool SomeShare() const { return sharers_ > 0; }          // Running jobs have shares.

  // Behind all others in order of submission; it does not move until it is removed. REQUIRES: a new
  // id.
  const JobView& Add(JobView job);
  template <typename Change>
  void Update(JobId id, Change change) {  // change(JobView&): anything but the id.
    Node& node = At(id);
    const JobSequence::Key old_place = StateKey(node);
    const JobState old_state = node.view.state;
    const int old_preferred = node.view.request.preferred;
    const CpuSet held = HeldBy(node.view);
    sharers_ -= node.view.Shares() ? 1 : 0;
    change(node.view);
    CheckId(id, node.view);
    holders_.Replace(held, HeldBy(node.view));
    sharers_ += node.view.Shares() ? 1 : 0;
    const bool same = node.view.state == old_state && StateKey(node) == old_place &&
                      node.view.request.preferred == old_preferred;
    if (same) return;
    Unlink(old_state, old_preferred, node);
    Link(&node);
  }
  void Remove(JobId id);

 private:
  using Position = JobSequence::Index::iterator;
  using ByPreferred = std::map<int, JobSequence::Index>;  // Without empty ones.
  struct Node {
    JobView view;
    int64_t sequence = 0;
    Position in_all;
    Position in_state;  // In running_ or paused_.
    std::array<Position, 2> in_queue;
    std::array<Position, 2> in_by_preferred;
  };
  struct Queue {
    JobSequence::Index all;
    ByPreferred by_preferred;
  };

  static JobSequence::Key QueueKey(const Node& node, QueueOrder order);
  static JobSequence::Key StateKey(const Node& node);  // In the last order of its state.
  static Position Insert(JobSequence::Index* index, const JobSequence::Key& key,
                         const JobView* job);
  static CpuSet HeldBy(const JobView& job) { return job.IsActive() ? job.cores : CpuSet(); }
  static void CheckId(JobId id, const JobView& job);
  Node& At(JobId id);
  void Link(Node* node);
  void Unlink(JobState state, int preferred, const Node& node);  // As it was linked.

  std::unordered_map<int64_t, Node> nodes_;  // By id; nodes do not move.
  int64_t next_sequence_ = 0;
  JobSequence::Index all_;
  std::array<Queue, 2> waiting_;  // By QueueOrder.
  JobSequence::Index running_;
  JobSequence::Index paused_;
  CoreCounter holders_;  // Running jobs.
  int sharers_ = 0;      // Of them.
};

}  // namespace cosched
