#include "experiments/config/figure_table.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace cosched {
namespace {

using F = FigureSettings;
using FigureKey = SectionKey<F>;
using Command = F::Command;

// A key that only one command takes.
FigureKey With(Command command, FigureKey key) {
  return std::move(key).RefusedWhere(
      [command](const F& figure) -> std::optional<FigureKey::Refusal> {
        if (figure.with == command) return {};
        return FigureKey::Refusal{
            fmt::format("has no meaning for with = \"{}\"", ToString(figure.with)),
            fmt::format("with = \"{}\"", ToString(command))};
      });
}

}  // namespace

const char* ToString(Command command) {
  switch (command) {
    case Command::kRun: return "run";
    case Command::kValidate: return "validate";
    case Command::kBenchmark: return "benchmark";
  }
  return "?";
}

const Section<F>& FigureSection() {
  static const Section<F> section(
      "[figure]", "how `cosched reproduce` gets a figure's numbers; only in experiments/figures/",
      {FigureKey::Choice("with", &F::with,
                         std::vector{Command::kRun, Command::kValidate, Command::kBenchmark},
                         "the command that measures"),
       FigureKey::Text("prepare", &F::prepare, "a shell script beside the file",
                       "makes the files that workloads read; runs before all else")
           .Default("none"),
       With(Command::kValidate,
            FigureKey::Number("calibrate_minutes", &F::calibrate_minutes, 0.01, 10'000,
                              "spent on the profile, with = \"validate\"")
                .Required()),
       With(Command::kBenchmark,
            FigureKey::Text("program", &F::program, "a benchmark in the build's folder",
                            "what runs, with = \"benchmark\"")
                .Required()),
       With(Command::kBenchmark,
            FigureKey::Text("filter", &F::filter, "a regular expression", "which of its cases")
                .Required()),
       With(Command::kBenchmark,
            FigureKey::Integer("repetitions", &F::repetitions, 1, 1000, "of each of them"))});
  return section;
}

}  // namespace cosched
