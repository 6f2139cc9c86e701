// `cosched trace generate`: a specification's generators, drawn into a trace file.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/error.h"
#include "experiments/cli/trace.h"
#include "experiments/cli/typed_option.h"
#include "experiments/config/generator_table.h"
#include "traces/survey.h"
#include "traces/writers.h"

namespace cosched {
namespace {

struct GenerateArguments {
  std::string spec;
  std::string out;
  std::string to = "cosched";
  std::optional<uint64_t> seed;
};

int Generate(const GenerateArguments& arguments) {
  const TraceTarget& target = FindTraceTarget(arguments.to);
  const std::filesystem::path spec = arguments.spec;
  const GeneratorFile file = ReadGeneratorFile(TomlTable::Load(spec, {}), spec.parent_path());
  const uint64_t seed = arguments.seed.value_or(file.seed);
  const auto draw = [&] {
    return GeneratedTrace(file.columns, file.generators, file.limits, seed);
  };
  // Drawn twice, in constant memory: a file's columns depend on what its arrivals say.
  GeneratedTrace first = draw();
  const TraceSurvey survey = Survey(&first, "cosched");
  if (survey.arrivals() == 0) {
    throw InputError({.file = arguments.spec,
                      .key = "length_s",
                      .problem = "ends before the first arrival",
                      .allowed = "a longer time"});
  }
  if (file.limits.arrivals && !file.limits.length && survey.arrivals() < *file.limits.arrivals) {
    fmt::print(stderr, "cosched: the generators end after {} of {} arrivals\n", survey.arrivals(),
               *file.limits.arrivals);
  }
  const std::unique_ptr<TraceWriter> writer = target.make(survey);
  GeneratedTrace second = draw();
  WriteTrace(&second, writer.get(), arguments.out);
  fmt::print(stderr, "{} arrivals over {} s from seed {}\n", survey.arrivals(),
             ToSeconds(survey.last - survey.first), seed);
  for (const std::string& loss : target.losses(survey)) fmt::print(stderr, "lost: {}\n", loss);
  return 0;
}

}  // namespace

void AddTraceGenerateCommand(CLI::App& trace, int* exit_code) {
  CLI::App* command =
      trace.add_subcommand("generate",
                           "Draw a trace from a specification of its generators "
                           "(experiments/examples/trace_generate.toml shows all of them)");
  const auto arguments = std::make_shared<GenerateArguments>();
  std::string targets;
  for (const TraceTarget& target : TraceTargets())
    targets += fmt::format("{}{} ({})", targets.empty() ? "" : ", ", target.name, target.summary);
  command->add_option("SPEC", arguments->spec, "The specification (.toml)")->required();
  command->add_option("--out", arguments->out,
                      "The file to write, replaced if it is there; default: standard output");
  command->add_option("--to", arguments->to, "Its format: " + targets)->capture_default_str();
  AddNumber(command, "--seed", &arguments->seed, 0, std::numeric_limits<uint64_t>::max(),
            "Instead of the specification's");
  command->callback([arguments, exit_code] { *exit_code = Generate(*arguments); });
}

}  // namespace cosched
