#include "policies/registry.h"

#include <fmt/format.h>

#include <array>

namespace cosched {

PolicyInfo NoControlPolicy();
PolicyInfo StaticPartitionPolicy();
PolicyInfo StrictPolicy();
PolicyInfo AlwaysAttendPolicy();
PolicyInfo MaxPropPolicy();
PolicyInfo EqualSharePolicy();
PolicyInfo EasyBackfillPolicy();
PolicyInfo EasyMalleablePolicy();
PolicyInfo SjfPolicy();
PolicyInfo SrptPolicy();
PolicyInfo HesrptPolicy();
PolicyInfo MarginalSpeedupPolicy();
PolicyInfo RoundRobinPolicy();
PolicyInfo GangPolicy();
PolicyInfo LendReclaimPolicy();
PolicyInfo FeedbackPolicy();
PolicyInfo ScriptedPolicy();
PolicyInfo ScriptedSharesPolicy();
PolicyInfo StaticSharesPolicy();
PolicyInfo RomaCtPolicy();
PolicyInfo RomaCt2Policy();
PolicyInfo RomaRulesPolicy();
PolicyInfo KosmosPolicy();
PolicyInfo KpaPolicy();
PolicyInfo HpaPolicy();
PolicyInfo VpaPolicy();
PolicyInfo SpongePolicy();
PolicyInfo Fa2Policy();
PolicyInfo CurveSharesPolicy();
PolicyInfo DevicesOnlyPolicy();
PolicyInfo BottleneckFirstPolicy();
PolicyInfo CreditKneePolicy();

std::span<const PolicyInfo> Policies() {
  static const std::array kPolicies = {NoControlPolicy(),
                                       StaticPartitionPolicy(),
                                       StrictPolicy(),
                                       AlwaysAttendPolicy(),
                                       MaxPropPolicy(),
                                       EqualSharePolicy(),
                                       EasyBackfillPolicy(),
                                       EasyMalleablePolicy(),
                                       SjfPolicy(),
                                       SrptPolicy(),
                                       HesrptPolicy(),
                                       MarginalSpeedupPolicy(),
                                       RoundRobinPolicy(),
                                       GangPolicy(),
                                       LendReclaimPolicy(),
                                       FeedbackPolicy(),
                                       ScriptedPolicy(),
                                       ScriptedSharesPolicy(),
                                       StaticSharesPolicy(),
                                       RomaCtPolicy(),
                                       RomaCt2Policy(),
                                       RomaRulesPolicy(),
                                       KosmosPolicy(),
                                       KpaPolicy(),
                                       HpaPolicy(),
                                       VpaPolicy(),
                                       SpongePolicy(),
                                       Fa2Policy(),
                                       CurveSharesPolicy(),
                                       DevicesOnlyPolicy(),
                                       BottleneckFirstPolicy(),
                                       CreditKneePolicy()};
  return kPolicies;
}

const PolicyInfo* FindPolicy(std::string_view name) {
  for (const PolicyInfo& info : Policies()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

std::string PolicyNames() {
  std::string names;
  for (const PolicyInfo& info : Policies()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", info.name);
  }
  return names;
}

std::unique_ptr<Policy> MakePolicy(const PolicyInfo& info, const PolicyParameters& parameters) {
  return info.make(Completed(fmt::format("policy.{}", info.name), info.parameters, parameters));
}

}  // namespace cosched
