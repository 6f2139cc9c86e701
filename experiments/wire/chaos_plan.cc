#include "experiments/wire/chaos_plan.h"

#include <algorithm>
#include <array>

namespace cosched {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kModel = "chaos";
constexpr int kLatestMomentMilliseconds = 300;  // From its being ready to its misbehaving.

constexpr auto kBehaviours = std::to_array<ChaosBehaviour>({
    {"behaves", "does nothing wrong"},
    {"refuses", "answers a shrink but keeps running outside of its grant, re-binding its threads"},
    {"deaf", "never answers a grant after its first"},
    {"hangs", "beats no more and computes no more"},
    {"greedy", "runs more threads than it has cores"},
    {"floods", "sends messages as fast as it can"},
    {"garbage", "sends bytes that are no message"},
    {"oversized", "sends a message that is too long"},
    {"scribbles", "writes nonsense into the shared page"},
    {"lies", "claims to have settled a grant that was never made"},
    {"exits", "exits with any status"},
    {"crashes", "dies of any signal"},
    {"closes", "closes its socket and goes on"},
    {"mute", "never says hello"},
    {"dies-before-hello", "is killed before it says hello"},
    {"dies-in-grant", "is killed between a grant and its answer"},
    {"dies-in-finish", "is killed as it says that it has finished"},
    {"stays", "says that it has finished, ignores every signal that can be ignored, and stays"},
    {"forks", "leaves a process of another session behind, which spins on every core it can get"},
});

}  // namespace

std::span<const ChaosBehaviour> ChaosBehaviours() { return kBehaviours; }

bool IsChaosModel(std::string_view model) {
  if (model == kModel) return true;
  if (!model.starts_with(kModel) || model[kModel.size()] != ':') return false;
  const std::string_view name = model.substr(kModel.size() + 1);
  return std::any_of(kBehaviours.begin(), kBehaviours.end(),
                     [name](const ChaosBehaviour& known) { return known.name == name; });
}

ChaosPlan PlanChaos(const TenantSpec& spec) {
  Random random = Random(spec.seed).Derive(kModel);
  const std::string_view model = spec.model;
  // The table's own name: it outlives the spec.
  const auto named =
      std::find_if(kBehaviours.begin(), kBehaviours.end(), [model](const auto& known) {
        return model.size() > kModel.size() && model.substr(kModel.size() + 1) == known.name;
      });
  const auto& behaviour =
      named == kBehaviours.end() ? kBehaviours[random.Below(kBehaviours.size())] : *named;
  const milliseconds moment(random.Below(kLatestMomentMilliseconds));
  return {.behaviour = behaviour.name, .moment = moment, .random = random};
}

}  // namespace cosched
