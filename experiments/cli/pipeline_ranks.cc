#include "experiments/cli/pipeline_ranks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "engine/gates/rank_worker.h"
#include "experiments/cli/program_options.h"
#include "experiments/cli/typed_option.h"
#include "experiments/config/option_refusal.h"
#include "experiments/os/exit_code.h"
#include "experiments/os/mpirun.h"

namespace cosched {
namespace {

constexpr const char* kRanks = "--ranks";

std::vector<std::string> WordsOfThisCommand() {
  std::ifstream stream("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(stream, word, '\0');) words.push_back(word);
  return words;
}

[[noreturn]] void BecomeMpirun(int ranks) {
  std::vector<std::string> own = WordsOfThisCommand();
  own[0] = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<std::string> command = MpirunCommand(ranks, own);
  if (command.empty()) {
    RefuseOption(kRanks, "there is no mpirun here, which starts them",
                 "where it is installed (Debian: openmpi-bin)");
  }
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  execv(words[0], words.data());
  throw std::system_error(errno, std::generic_category(), "mpirun");
}

std::unique_ptr<MpiLink> LinkOfRanks(std::optional<int> ranks) {
  const std::optional<int> started = RanksOfLauncher();
  if (!started) {
    if (ranks.value_or(1) == 1) return nullptr;
    if (!HasMpi()) MpiLink();  // Throws.
    BecomeMpirun(*ranks);
  }
  if (ranks && *ranks != *started) {
    RefuseOption(kRanks, fmt::format("{}, but {} were started", *ranks, *started),
                 "as many as mpirun starts, or no such option");
  }
  if (*started == 1) return nullptr;
  return std::make_unique<MpiLink>();
}

CpuSet CoresOfRank(const CpuSet& cores, const LocalRanks& local, int threads) {
  const std::vector<int> all = cores.ToVector();
  CpuSet own;
  for (int i = 0; i < threads; ++i) {
    own.Add(all[static_cast<size_t>(local.index * threads + i) % all.size()]);
  }
  return own;
}

}  // namespace

void AddThreadsAndRanks(CLI::App* command, std::optional<int>* threads, std::optional<int>* ranks) {
  constexpr int kMostRanks = 1024;
  AddNumber(
      command, "--threads", threads, 1, kMostThreads,
      "Calls that compute side by side, of each rank; default: one a core, which is the most");
  AddNumber(
      command, kRanks, ranks, 1, kMostRanks,
      "Processes that share the work, started with mpirun; or start them yourself: mpirun -n N "
      "cosched pipeline run …");
}

JoinedRank JoinRanks(std::optional<int> threads, std::optional<int> ranks,
                     const Topology& topology) {
  const int most = topology.Cpus().Count();
  if (threads) CheckNumber("--threads", *threads, 1, most);
  JoinedRank joined{.link = LinkOfRanks(ranks)};
  const LocalRanks local = joined.link ? joined.link->Local() : LocalRanks{};
  joined.cores =
      CoresOfRank(topology.Cpus(), local, threads.value_or(std::max(1, most / local.count)));
  return joined;
}

int ServeRank(MpiLink* link, const std::function<PipelineProgram()>& make, const CpuSet& cores,
              const Topology& topology) {
  // Rank 0 decides when it is over; whoever starts ranks ends those that don't hear it.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  // Rank 0 tells why not.
  const std::optional<PipelineProgram> program = MakeOrRefuse(link, make);
  if (!program) return kFailed;
  const int threads = cores.Count();
  RankWorker worker(link, program->stages, program->travels,
                    {.capacity = {threads, threads},
                     .binding = ThreadPools::Binding::kEachToItsCore,
                     .topology = &topology});
  worker.Pools().Resize(cores, {threads, threads});
  try {
    worker.Run();
  } catch (const RankGone&) {
    return kFailed;  // Rank 0 tells who is gone, or is it, which mpirun tells.
  }
  return 0;
}

}  // namespace cosched
