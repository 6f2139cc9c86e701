#pragma once
// A job of Slurm's, by the commands sbatch, squeue and scancel. Called by the Slurm launcher; one
// thread at a time.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cosched {

[[noreturn]] void RefuseSlurm(const std::string& problem);

class SlurmJob {
 public:
  // Throws InputError where there is no Slurm.
  static void RequireSlurm();
  // `arguments` of sbatch. Throws InputError if it refuses.
  static SlurmJob Submit(const std::vector<std::string>& arguments);

  explicit SlurmJob(std::string id) : id_(std::move(id)) {}
  const std::string& id() const { return id_; }

  // It waits, runs or is about to end; nullopt: Slurm does not answer, and says why.
  std::optional<bool> IsListed(std::string* why) const;
  // Calls look() now and then, until the job is over. Where Slurm does not answer, it is waited for:
  // its job goes on meanwhile. False if interrupted: the job is cancelled then, and over if Slurm has
  // answered within seconds.
  bool Wait(const std::function<void()>& look) const;

 private:
  void Cancel() const;

  std::string id_;
};

}  // namespace cosched
