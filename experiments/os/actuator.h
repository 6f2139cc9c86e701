#pragma once
// How a host moves a tenant to other cores, and whether the tenant follows. Called by config (what
// is wanted) and by the hosts. Stateless.

#include <optional>
#include <string>
#include <string_view>

namespace cosched {

enum class Actuator {
  kAffinity,  // the affinity of every thread; a malleable tenant sees to its own
  kCpuset,    // the cpuset of the tenant's cgroup, first of all; then a malleable tenant is told
  kQuota,     // CPU time for as many cores as were granted, anywhere on the experiment's cores
};

// What a malleable tenant in a container does when its cgroup has been moved.
enum class Client {
  kOn,       // follows at once
  kOff,      // knows nothing: its threads stay, on fewer cores (the published oversubscription)
  kHalving,  // the published protocol: halves its threads once a second, grows in one step
};

// How a container's cgroup is moved.
enum class Actuation {
  kDirect,   // one write by the host; where that is not permitted, as below
  kRuntime,  // the runtime's own update, a thousand times slower
};

std::string_view ToString(Actuation actuation);  // "direct", "runtime"
std::string_view ToString(Client client);        // "on", "off", "halving"
std::optional<Client> ParseClient(std::string_view text);
std::string_view ToString(Actuator actuator);  // "affinity", "cpuset", "quota"
std::optional<Actuator> ParseActuator(std::string_view text);

// What this user may use on this machine: cpuset where it is permitted, else affinity.
Actuator BestActuator();
// "" if it may be used here, else why not.
std::string WhyNot(Actuator actuator);

}  // namespace cosched
