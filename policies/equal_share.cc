// Dynamic equipartition: at each arrival and each end the cores are divided anew, equally among as
// many jobs as fit with their min, within each job's min and max; a remainder goes to the oldest.
// Running jobs shrink so that newcomers can start. Source: McCann, Vaswani, Zahorjan, "A Dynamic
// Processor Allocation Policy for Multiprogrammed Shared-Memory Multiprocessors", ACM TOCS 11(2),
// 1993.

#include "policies/queue_order.h"
#include "policies/registry.h"
#include "policies/repartition.h"

namespace cosched {
namespace {

class EqualShare final : public Policy {
 public:
  Allocation Decide(const MachineView& view, const Event& event) override {
    return ChangesQueue(event) ? ShareEqually(view) : Allocation();
  }
};

}  // namespace

PolicyInfo EqualSharePolicy() {
  return {.name = "equal-share",
          .summary =
              "divides the cores equally among all jobs at each arrival and end, as far as "
              "their min fits, first come, first served; running jobs shrink for newcomers",
          .source = "McCann et al., ACM TOCS 11(2), 1993 (dynamic equipartition)",
          .on_settled = false,
          .make = [](const PolicyParameters&) -> std::unique_ptr<Policy> {
            return std::make_unique<EqualShare>();
          }};
}

}  // namespace cosched
