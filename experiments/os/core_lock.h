#pragma once
// Keeps a second run that measures this machine off the cores of the first: each would take its
// share of the other's results. Held by whoever is about to run cells on hardware or in containers
// (experiments/launch/measured_cores.h), from before the first cell to after the last. One thread.
//
// One file for all users of the machine, cosched-cores-<boot id>, has a place for each CPU; who
// uses a CPU locks its place and writes there who it is. The kernel lets go of a lock when its
// holder ends, however it ends, so a stale one is no obstacle, and what a place says counts only
// while it is locked. The file is in /run/lock, or in /tmp where there is no such folder that all
// users may write to; COSCHED_LOCKS names another folder, e.g. one for the runs of one test. It
// works across PID namespaces that share the folder; of runs that do not share it nothing is known.
// The lock is advisory: whoever may write to the file can hold a place of it for no good reason,
// and --force passes by.

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/unique_fd.h"

namespace cosched {

// A run on cores of this machine, as it tells of itself. Any user may have written this.
struct CoreUser {
  std::string run;    // The run's folder, or what it does.
  pid_t process = 0;  // In its own PID namespace; 0 = not known.
  std::string since;  // "2026-11-22 16:02:11"
  CpuSet cores;       // That it holds of those that were asked for.
};
std::string Describe(const CoreUser& user);  // "results/x/20261122-160211 (process 4242, since …)"

class CoreLock {
 public:
  // Takes those of `cores` that nobody holds; never waits. run: as in CoreUser.
  CoreLock(const CpuSet& cores, const std::string& run,
           const std::filesystem::path& folder = Folder());

  // Who holds the others, each once.
  const std::vector<CoreUser>& others() const { return others_; }
  // Why it is not known who uses the cores: no lock could be had. "" = it is known.
  const std::string& problem() const { return problem_; }
  // For one that uses the cores beside others (--force): who comes when these have ended hears of
  // it.
  void Insist();
  void SetRun(const std::string& run);  // Once its folder is known.

  static std::filesystem::path Folder();  // Empty: there is none that all users may write to.

 private:
  void AddOther(CoreUser user, int cpu);
  void Write() const;

  CpuSet held_;
  CoreUser self_;
  UniqueFd file_;
  std::vector<CoreUser> others_;
  std::string problem_;
};

}  // namespace cosched
