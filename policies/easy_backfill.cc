// EASY backfilling: first come, first served, each job with all the cores it asks for; while the
// first of the queue waits, later ones may start if they do not delay it. Its start is reserved at
// the time when enough cores will have been freed by the expected ends of the running jobs; a later
// job may run before it if it ends by then, or takes only cores that the reservation leaves over.
// Sources: D. Lifka, "The ANL/IBM SP Scheduling System", JSSPP 1995; A. Mu'alem and D. Feitelson,
// IEEE TPDS 12(6), 2001. There the user estimates run times; here the speed curve does, and what a
// running job has left is taken from its progress. All elasticity classes alike: nobody is resized
// or paused.

#include <utility>
#include <vector>

#include "policies/job_size.h"
#include "policies/queue_order.h"
#include "policies/registry.h"
#include "policies/reservation.h"

namespace cosched {
namespace {

class EasyBackfill final : public Policy {
 public:
  explicit EasyBackfill(QueueOrder order) : order_(order) {}

  Allocation Decide(const MachineView& view, const Event& event) override {
    if (!ChangesQueue(event)) return {};
    Handout handout(view);
    std::vector<ExpectedEnd> ends;  // Of jobs that start now.
    const JobView* head = nullptr;
    for (const JobView& job : view.jobs.Waiting(order_)) {
      head = &job;
      const int cores = CoresAsked(view, job);
      if (cores > handout.free()) break;
      handout.Start(job, cores);
      ends.push_back({SecondsLeft(view, job, cores), cores});
      head = nullptr;
    }
    if (head != nullptr && handout.free() > 0) Backfill(view, *head, std::move(ends), &handout);
    return handout.Take();
  }

 private:
  void Backfill(const MachineView& view, const JobView& head, std::vector<ExpectedEnd> ends,
                Handout* handout) const {
    for (const JobView& job : view.jobs.Running()) {
      const int cores = job.cores.Count();
      ends.push_back({SecondsLeft(view, job, cores), cores});
    }
    Reservation reserved = ReserveStart(std::move(ends), handout->free(), CoresAsked(view, head));
    const JobView* job = &head;
    while (handout->free() > 0 &&
           (job = view.jobs.NextAskingAtMost(handout->free(), order_, job)) != nullptr) {
      const int cores = CoresAsked(view, *job);
      const bool ends_before = SecondsLeft(view, *job, cores) <= reserved.start_s;
      if (!ends_before && cores > reserved.spare) continue;
      handout->Start(*job, cores);
      if (!ends_before) reserved.spare -= cores;
    }
  }

  const QueueOrder order_;
};

constexpr PolicyParameter kParameters[] = {
    {"order", "fcfs", kQueueOrders, "who is next in the queue"},
};

}  // namespace

PolicyInfo EasyBackfillPolicy() {
  return {
      .name = "easy-backfill",
      .summary = "first come, first served; later jobs may start if they do not delay the first",
      .source = "Lifka, JSSPP 1995; Mu'alem and Feitelson, IEEE TPDS 12(6), 2001 (EASY)",
      .parameters = kParameters,
      .needs_speed = true,
      .on_settled = false,
      .needs_size = true,
      .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
        return std::make_unique<EasyBackfill>(ParseQueueOrder(parameters.at("order")));
      }};
}

}  // namespace cosched
