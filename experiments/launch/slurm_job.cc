#include "experiments/launch/slurm_job.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "experiments/config/option_refusal.h"
#include "experiments/os/capture.h"
#include "experiments/os/interrupt.h"

namespace cosched {
namespace {

// Slurm tells nobody that a job has ended: it is asked.
constexpr auto kBetweenAnswers = std::chrono::milliseconds(500);
constexpr int kSilentLooks = 20;     // In a row, until the silence is told.
constexpr int kCancelledLooks = 60;  // For the end of what was cancelled.
// A client repeats its question of a controller that is busy; one that is killed may have submitted.
constexpr std::chrono::minutes kClientLimit{10};

std::optional<std::string> Ask(const std::vector<std::string>& command, std::string* said) {
  std::optional<std::string> reply = Capture(command, said, kClientLimit);
  std::string* const text = reply ? &*reply : said;
  while (!text->empty() && text->back() == '\n') text->pop_back();
  return reply;
}

}  // namespace

void RefuseSlurm(const std::string& problem) {
  RefuseOption("--launcher slurm", problem,
               "a working Slurm client here (sbatch, squeue, scancel), or --launcher local");
}

void SlurmJob::RequireSlurm() {
  std::string said;
  if (!Ask({"sbatch", "--version"}, &said)) RefuseSlurm("there is no Slurm here: " + said);
}

SlurmJob SlurmJob::Submit(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {"sbatch", "--parsable"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::string said;
  const std::optional<std::string> reply = Ask(command, &said);
  if (!reply) RefuseSlurm("sbatch failed: " + said);
  return SlurmJob(reply->substr(0, reply->find(';')));  // "ID;CLUSTER" in a federation.
}

std::optional<bool> SlurmJob::IsListed(std::string* why) const {
  why->clear();
  const auto reply = Ask({"squeue", "--noheader", "--format=%i", "--jobs=" + id_}, why);
  if (reply) return !reply->empty();
  // Slurm forgets a job some minutes after its end.
  if (why->find("Invalid job id") != std::string::npos) return false;
  return std::nullopt;
}

bool SlurmJob::Wait(const std::function<void()>& look) const {
  std::string why;
  for (int silent = 0;; std::this_thread::sleep_for(kBetweenAnswers)) {
    look();
    if (Interrupted()) {
      Cancel();
      return false;
    }
    const std::optional<bool> listed = IsListed(&why);
    if (listed == false) break;
    silent = listed ? 0 : silent + 1;
    if (silent == kSilentLooks) {
      fmt::print(stderr, "squeue does not answer, and is waited for; job {} goes on: {}\n", id_,
                 why);
    }
  }
  look();
  return true;
}

// Its tasks may still write while they are being stopped.
void SlurmJob::Cancel() const {
  std::string ignored;
  Ask({"scancel", id_}, &ignored);
  for (int looks = 0; looks < kCancelledLooks && IsListed(&ignored) != false; ++looks)
    std::this_thread::sleep_for(kBetweenAnswers);
}

}  // namespace cosched
