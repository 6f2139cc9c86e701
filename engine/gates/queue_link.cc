#include "engine/gates/queue_link.h"

#include <utility>

#include "engine/base/check.h"

namespace cosched {

class QueueLinks::Link : public RankLink {
 public:
  Link(QueueLinks* all, int rank, int size) : all_(*all), rank_(rank), size_(size) {}

  int Rank() const override { return rank_; }
  int Size() const override { return size_; }
  void Send(int to, std::string message) override {
    CHECK(message.size() <= kMostBytes) << message.size() << " bytes in a message";
    all_.links_[static_cast<size_t>(to)]->box.Put(rank_, std::move(message));
  }
  std::optional<Received> Receive(std::chrono::microseconds wait) override {
    return box.Receive(wait);
  }
  void Wake() override { box.Wake(); }

  Mailbox box;

 private:
  QueueLinks& all_;
  const int rank_, size_;
};

QueueLinks::QueueLinks(int size) {
  for (int rank = 0; rank < size; ++rank)
    links_.push_back(std::make_unique<Link>(this, rank, size));
}

QueueLinks::~QueueLinks() = default;

RankLink& QueueLinks::Of(int rank) { return *links_[static_cast<size_t>(rank)]; }

void QueueLinks::Kill(int rank) {
  for (const std::unique_ptr<Link>& link : links_) link->box.Fail(GoneText(rank));
}

}  // namespace cosched
