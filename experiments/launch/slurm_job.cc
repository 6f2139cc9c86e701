#include "experiments/launch/slurm_job.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "experiments/config/option_refusal.h"
#include "experiments/os/interrupt.h"
#include "experiments/os/shell_word.h"

namespace cosched {
namespace {

// Slurm tells nobody that a job has ended: it is asked.
constexpr auto kBetweenAnswers = std::chrono::milliseconds(500);
constexpr int kSilentLooks = 20;     // In a row, until the silence is told.
constexpr int kCancelledLooks = 60;  // For the end of what was cancelled.

struct ShellReply {
  int status = -1;
  std::string text;  // Both outputs.
};

ShellReply Shell(const std::string& command) {
  ShellReply reply;
  FILE* const output = popen((command + " 2>&1 </dev/null").c_str(), "re");
  if (output == nullptr) return reply;
  char buffer[4096];
  while (const size_t count = std::fread(buffer, 1, sizeof buffer, output))
    reply.text.append(buffer, count);
  const int status = pclose(output);
  reply.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  while (!reply.text.empty() && reply.text.back() == '\n') reply.text.pop_back();
  return reply;
}

}  // namespace

void RefuseSlurm(const std::string& problem) {
  RefuseOption("--launcher slurm", problem,
               "a working Slurm client here (sbatch, squeue, scancel), or --launcher local");
}

void SlurmJob::RequireSlurm() {
  const ShellReply version = Shell("sbatch --version");
  if (version.status != 0) RefuseSlurm("there is no Slurm here: " + version.text);
}

SlurmJob SlurmJob::Submit(const std::string& arguments) {
  const ShellReply reply = Shell("sbatch --parsable " + arguments);
  if (reply.status != 0) RefuseSlurm("sbatch failed: " + reply.text);
  return SlurmJob(reply.text.substr(0, reply.text.find(';')));  // "ID;CLUSTER" in a federation.
}

std::optional<bool> SlurmJob::IsListed(std::string* why) const {
  const ShellReply reply = Shell("squeue --noheader --format=%i --jobs=" + ShellQuoted(id_));
  // Slurm forgets a job some minutes after its end.
  if (reply.text.find("Invalid job id") != std::string::npos) return false;
  if (reply.status == 0) return !reply.text.empty();
  *why = reply.text;
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
  Shell("scancel " + ShellQuoted(id_));
  std::string ignored;
  for (int looks = 0; looks < kCancelledLooks && IsListed(&ignored) != false; ++looks)
    std::this_thread::sleep_for(kBetweenAnswers);
}

}  // namespace cosched
