#pragma once
// What the kernel tells of a process in /proc/PID/stat, by proc(5)'s numbers of its fields. For who
// looks at a process now and then; ProcessSampler reads the same of all threads many times a second,
// from files that stay open. Immutable.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cosched {

class ProcessStat {
 public:
  enum Field {
    kState = 3,
    kParent = 4,
    kGroup = 5,
    kSession = 6,
    kFlags = 9,
    kThreads = 20,
    kStartTime = 22,
    kArgumentsBegin = 48,
    kArgumentsEnd = 49,
    kEnvironmentBegin = 50,
    kEnvironmentEnd = 51,
  };

  // `process`: its number, or "self". nullopt if there is no such process.
  static std::optional<ProcessStat> Of(const std::string& process);
  static std::optional<ProcessStat> Of(pid_t process) { return Of(std::to_string(process)); }

  // "" or 0 where the kernel tells no such field, or an older one does not.
  const std::string& Text(Field field) const;
  int64_t Number(Field field) const;
  // It only waits to be reaped. A process whose first thread alone has ended looks like one that does.
  bool HasEnded() const {
    return (Text(kState) == "Z" || Text(kState) == "X") && Number(kThreads) <= 1;
  }

 private:
  std::vector<std::string> fields_;  // From the state on: what is before it may hold anything.
};

}  // namespace cosched
