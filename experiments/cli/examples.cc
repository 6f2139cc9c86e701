#include "experiments/cli/examples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <string_view>

namespace cosched {
namespace {

struct ExampleOfCommand {
  std::string_view command;  // The words that lead to it.
  CommandExample example;
};

constexpr ExampleOfCommand kExamples[] = {
    {"", {"cosched run quickstart --trials 1", "Twelve short cells: a table, and plots"}},
    {"init", {"cosched init mine", "Writes mine.toml, which `cosched run mine.toml` runs"}},
    {"run",
     {"cosched run quickstart --trials 1 --policy strict --policy equal-share",
      "Two policies on this machine, with rigid and with malleable tenants"}},
    {"run", {"cosched run mine.toml --dry-run", "What a file of yours would do, and how long"}},
    {"run", {"cosched run simulated --set trials=2", "On a machine that is not here"}},
    {"compare", {"cosched compare results/simulated --detail", "The newest run, all intervals"}},
    {"report",
     {"cosched report results/simulated --out report.html", "The newest run, to hand in"}},
    {"runs", {"cosched runs list", "All in results/"}},
    {"runs list", {"cosched runs list results", "All in results/"}},
    {"runs show", {"cosched runs show results/simulated", "The newest of that experiment"}},
    {"runs rm", {"cosched runs rm results/simulated/old", "One run, and all of its records"}},
    {"runs export",
     {"cosched runs export results/simulated simulated.zip", "The newest, for another machine"}},
    {"runs import",
     {"cosched runs import simulated.zip --out theirs", "What `cosched runs export` has made"}},
    {"watch", {"cosched watch results/simulated --once", "The newest run, as it is now"}},
    {"reproduce",
     {"cosched reproduce fig_control --quick", "A simulated figure, and what it claims"}},
    {"calibrate",
     {"cosched calibrate --workloads lenet5 --minutes 0.1 --out profile.json",
      "Quick and rough; without --minutes as long as good intervals take"}},
    {"validate",
     {"cosched validate mine.toml --profile profile.json --trials 1",
      "Six short cells on this machine, and the same simulated"}},
    {"profile",
     {"cosched profile compare profile.json again.json", "Two calibrations of this machine"}},
    {"profile compare",
     {"cosched profile compare profile.json again.json --experiment mine.toml",
      "Two calibrations of this machine, and what it does to makespans"}},
    {"diff",
     {"cosched diff results/simulated/old results/simulated", "An older run and the newest"}},
    {"replay",
     {"cosched replay results/simulated --recorded strict --policy max-prop",
      "What max-prop would have done with the arrivals that strict met"}},
    {"tenant",
     {"cosched tenant --model lenet5 --steps 40 --resize-at 20:1",
      "One program, which goes on with one core from its 20th step"}},
    {"wrap",
     {"cosched wrap --cores 0 -- gzip -k requests.csv",
      "A program on CPU 0 until `cosched ctl` gives it others"}},
    {"ctl",
     {"cosched ctl ./tenant.sock status", "Of `cosched tenant --steps 0 --control tenant.sock`"}},
    {"ctl status",
     {"cosched ctl ./tenant.sock status", "Of `cosched tenant --steps 0 --control tenant.sock`"}},
    {"ctl set", {"cosched ctl ./tenant.sock set cores=0 intra=1", "One thread, on CPU 0"}},
    {"ctl pause", {"cosched ctl ./tenant.sock pause", "Its memory stays"}},
    {"ctl resume", {"cosched ctl ./tenant.sock resume", "After `cosched ctl ./tenant.sock pause`"}},
    {"ctl stop", {"cosched ctl ./tenant.sock stop", "After the step that it is in"}},
    {"trace", {"cosched trace describe requests.csv", "What is in it"}},
    {"trace describe",
     {"cosched trace describe requests.csv --plot requests.png", "In words, and drawn"}},
    {"trace convert",
     {"cosched trace convert requests.csv part.csv --to cosched --window 0:600 --speedup 60",
      "Its first ten minutes, in ten seconds"}},
    {"trace generate",
     {"cosched trace generate generators.toml --out trace.csv",
      "Of a file such as experiments/examples/trace_generate.toml"}},
    {"pipeline",
     {"cosched pipeline run increment --stages 3 --items 4 --work-ms 1 --requests 20",
      "Where the time of 20 requests goes"}},
    {"pipeline run",
     {"cosched pipeline run increment --stages 3 --items 4 --work-ms 1 --requests 20",
      "Where the time of 20 requests goes"}},
    {"pipeline run increment",
     {"cosched pipeline run increment --stages 3 --items 4 --work-ms 1 --requests 20",
      "Where the time of 20 requests goes"}},
    {"pipeline run align-sort",
     {"cosched pipeline run align-sort --reference genome.fa --reads 1.fq 2.fq --out sorted.bam",
      "Pairs of reads"}},
    {"pipeline run classify",
     {"cosched pipeline run classify --model lenet5 --requests 3 --out classes.csv",
      "Images that are made; --images DIR takes yours"}},
    {"bench",
     {"cosched bench engine --model lenet5 --batch 1,8 --seconds 0.1",
      "Images a second, beside what limits them"}},
    {"bench engine",
     {"cosched bench engine --model lenet5 --batch 1,8 --seconds 0.1",
      "Images a second, beside what limits them"}},
    {"bench serve",
     {"cosched bench serve --rate 1000 --seconds 0.5", "The way of a thousand requests a second"}},
    {"gradients",
     {"cosched gradients --model lenet5 --tensors step.weights --out gradients.weights",
      "Of the images, labels and variables in step.weights"}},
    {"list", {"cosched list policies", "What decides, and its parameters"}},
    {"list", {"cosched list keys machine", "What an experiment file may say in [machine]"}},
    {"model", {"cosched model describe resnet20", "What the network consists of"}},
    {"model describe",
     {"cosched model describe resnet20 --batch 32", "Its nodes, with the shapes of a batch"}},
    {"model run",
     {"cosched model run --model lenet5 --batch 2 --output classes.npy",
      "On random numbers, the same in every run"}},
    {"doctor", {"cosched doctor", "What this machine lacks, and what to do about it"}},
    {"doctor", {"cosched doctor -- gzip -k requests.csv", "What a program makes of its cores"}},
    {"completion", {"cosched completion bash > cosched.bash", "Then, in bash: . ./cosched.bash"}},
    {"manuals", {"cosched manuals man", "Then: man -l man/cosched-run.1"}},
};

void AddBelow(CLI::App& app, std::vector<std::string> words) {
  std::string footer;
  for (const CommandExample& example : ExamplesOf(words))
    footer += fmt::format("\n  # {}\n  {}", example.words, example.line);
  if (!footer.empty()) app.footer("Examples:" + footer);
  for (CLI::App* command : app.get_subcommands({})) {
    words.push_back(command->get_name());
    AddBelow(*command, words);
    words.pop_back();
  }
}

}  // namespace

std::vector<CommandExample> ExamplesOf(const std::vector<std::string>& words) {
  const std::string command = fmt::format("{}", fmt::join(words, " "));
  std::vector<CommandExample> examples;
  for (const ExampleOfCommand& one : kExamples) {
    if (one.command == command) examples.push_back(one.example);
  }
  return examples;
}

void AddExamples(CLI::App& app) { AddBelow(app, {}); }

}  // namespace cosched
