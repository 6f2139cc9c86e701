#include "experiments/os/actuator.h"

#include "engine/base/check.h"
#include "experiments/os/cgroup.h"

namespace cosched {

std::string_view ToString(Actuator actuator) {
  switch (actuator) {
    case Actuator::kAffinity: return "affinity";
    case Actuator::kCpuset: return "cpuset";
    case Actuator::kQuota: return "quota";
  }
  CHECK(false) << "no such actuator";
  return "";
}

std::string_view ToString(Actuation actuation) {
  return actuation == Actuation::kDirect ? "direct" : "runtime";
}

std::string_view ToString(Client client) {
  switch (client) {
    case Client::kOn: return "on";
    case Client::kOff: return "off";
    case Client::kHalving: return "halving";
  }
  CHECK(false) << "no such client";
  return "";
}

std::optional<Client> ParseClient(std::string_view text) {
  for (const Client client : {Client::kOn, Client::kOff, Client::kHalving}) {
    if (text == ToString(client)) return client;
  }
  return std::nullopt;
}

std::optional<Actuator> ParseActuator(std::string_view text) {
  for (const Actuator actuator : {Actuator::kAffinity, Actuator::kCpuset, Actuator::kQuota}) {
    if (text == ToString(actuator)) return actuator;
  }
  return std::nullopt;
}

Actuator BestActuator() { return Cgroup::Probe().cpuset ? Actuator::kCpuset : Actuator::kAffinity; }

std::string WhyNot(Actuator actuator) {
  if (actuator == Actuator::kAffinity) return "";
  const Cgroup::Support support = Cgroup::Probe();
  const bool permitted = actuator == Actuator::kCpuset ? support.cpuset : support.quota;
  return permitted ? "" : support.why_not;
}

}  // namespace cosched
