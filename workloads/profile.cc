#include "workloads/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "workloads/json_reader.h"

namespace cosched {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;
constexpr int kMaxThreads = 4096;
constexpr double kMostSeconds = 1e9;
constexpr double kMostBytes = 1e15;

json ToJson(const Estimate& estimate) {
  return {{"value", estimate.value},
          {"low", estimate.low},
          {"high", estimate.high},
          {"samples", estimate.samples}};
}

Estimate ReadEstimate(const JsonReader& at, double min, double max = kMostSeconds) {
  return {.value = at.At("value").Number(min, max),
          .low = at.At("low").Number(0, max),
          .high = at.At("high").Number(0, max),
          .samples = at.At("samples").Integer(0, 1'000'000'000)};
}

json ToJson(const ScalingLaw& law) {
  json error = nullptr;
  if (law.error) error = *law.error;
  return {{"kind", ToString(law.kind)}, {"parameters", law.parameters}, {"error", error}};
}

ScalingLaw ReadLaw(const JsonReader& at) {
  ScalingLaw law;
  const std::string kind = at.At("kind").String();
  const auto known = ParseScalingLaw(kind);
  if (!known) at.At("kind").Fail(fmt::format("is \"{}\"", kind), "amdahl, usl, downey");
  law.kind = *known;
  law.parameters.clear();
  for (const JsonReader& parameter : at.At("parameters").List())
    law.parameters.push_back(parameter.Number(0));
  if (static_cast<int>(law.parameters.size()) != ParameterCount(law.kind)) {
    at.At("parameters")
        .Fail(fmt::format("has {} of them", law.parameters.size()),
              fmt::format("{} for {}", ParameterCount(law.kind), kind));
  }
  if (law.kind == ScalingLaw::Kind::kDowney && law.parameters[0] < 1)
    at.At("parameters").Fail("has an average parallelism below 1", "1 or more");
  if (!at.At("error").IsNull()) law.error = at.At("error").Number(0);
  return law;
}

json ToJson(const std::vector<CrowdingPoint>& crowding) {
  json points = json::array();
  for (const CrowdingPoint& point : crowding) {
    points.push_back(
        {{"threads", point.threads}, {"others", point.others}, {"loss", ToJson(point.loss)}});
  }
  return points;
}

json ToJson(const StageProfile& stage) {
  const StageCost& cost = stage.cost;
  const bool exponential = cost.distribution == StageCost::Distribution::kExponential;
  return {{"stage", stage.stage},
          {"per_call_s", cost.per_call_s},
          {"per_item_s", cost.per_item_s},
          {"store_bytes_per_item", cost.store_bytes_per_item},
          {"law", ToJson(cost.law)},
          {"distribution", exponential ? "exponential" : "log-normal"},
          {"noise", cost.noise},
          {"emits_per_call", cost.emits_per_call},
          {"emits_per_item", cost.emits_per_item},
          {"item_bytes", cost.item_bytes},
          {"kept_bytes", cost.kept_bytes},
          {"piece_s", cost.piece_s}};
}

StageProfile ReadStage(const JsonReader& at) {
  StageProfile stage{.stage = at.At("stage").String(), .cost = {}};
  StageCost& cost = stage.cost;
  cost.per_call_s = at.At("per_call_s").Number(0);
  cost.per_item_s = at.At("per_item_s").Number(0);
  cost.store_bytes_per_item = at.At("store_bytes_per_item").Number(0);
  cost.law = ReadLaw(at.At("law"));
  const std::string distribution = at.At("distribution").String();
  if (distribution == "exponential") {
    cost.distribution = StageCost::Distribution::kExponential;
  } else if (distribution != "log-normal") {
    at.At("distribution").Fail(fmt::format("is \"{}\"", distribution), "log-normal, exponential");
  }
  cost.noise = at.At("noise").Number(0);
  cost.emits_per_call = at.At("emits_per_call").Number(0);
  cost.emits_per_item = at.At("emits_per_item").Number(0);
  cost.item_bytes = at.At("item_bytes").Integer(0, std::numeric_limits<int>::max());
  cost.kept_bytes = at.At("kept_bytes").Number(0);
  cost.piece_s = at.At("piece_s").Number(0);
  return stage;
}

json ToJson(const ProgramProfile& program) {
  json alone = json::array();
  for (const SpeedPoint& point : program.alone) {
    alone.push_back({{"cores", point.cores},
                     {"inter", point.threads.inter},
                     {"intra", point.threads.intra},
                     {"step_s", ToJson(point.step_s)}});
  }
  json value = {{"program", program.program},       {"alone", alone},
                {"law", ToJson(program.law)},       {"start_s", ToJson(program.start_s)},
                {"stop_s", ToJson(program.stop_s)}, {"warm_up", ToJson(program.warm_up)},
                {"pressure", program.pressure},     {"sensitivity", program.sensitivity},
                {"weight", program.weight},         {"crowding", ToJson(program.crowding)}};
  if (program.sibling.samples > 0) value["sibling"] = ToJson(program.sibling);
  if (program.far_memory.samples > 0) value["far_memory"] = ToJson(program.far_memory);
  if (program.memory_bytes.samples > 0) value["memory_bytes"] = ToJson(program.memory_bytes);
  for (const StageProfile& stage : program.stages) value["stages"].push_back(ToJson(stage));
  return value;
}

// Keys that profiles had not always.
void ReadSharing(const JsonReader& at, ProgramProfile* program) {
  if (at.Has("warm_up")) program->warm_up = ReadEstimate(at.At("warm_up"), 0);
  if (at.Has("weight")) program->weight = at.At("weight").Number(1e-3, 1e3);
  if (at.Has("sibling")) program->sibling = ReadEstimate(at.At("sibling"), 1e-3);
  if (at.Has("far_memory")) program->far_memory = ReadEstimate(at.At("far_memory"), 1e-3);
  if (at.Has("memory_bytes"))
    program->memory_bytes = ReadEstimate(at.At("memory_bytes"), 0, kMostBytes);
  if (!at.Has("crowding")) return;
  std::set<std::pair<int, double>> seen;
  for (const JsonReader& point : at.At("crowding").List()) {
    program->crowding.push_back({.threads = point.At("threads").Integer(1, kMaxThreads),
                                 .others = point.At("others").Number(1e-6, kMaxThreads),
                                 .loss = ReadEstimate(point.At("loss"), 1e-3)});
    if (!seen.insert({program->crowding.back().threads, program->crowding.back().others}).second)
      point.Fail("has the threads and others of an earlier point", "each point once");
  }
}

ProgramProfile ReadProgram(const JsonReader& at) {
  ProgramProfile program;
  program.program = at.At("program").String();
  std::set<std::pair<int, std::pair<int, int>>> seen;
  for (const JsonReader& point : at.At("alone").List()) {
    SpeedPoint read;
    read.cores = point.At("cores").Integer(1, kMaxThreads);
    read.threads = {point.At("inter").Integer(1, kMaxThreads),
                    point.At("intra").Integer(1, kMaxThreads)};
    read.step_s = ReadEstimate(point.At("step_s"), 1e-9);
    if (!seen.insert({read.cores, {read.threads.inter, read.threads.intra}}).second)
      point.Fail("has the cores and threads of an earlier point", "each point once");
    program.alone.push_back(read);
  }
  if (!seen.contains({1, {1, 1}}))
    at.At("alone").Fail("has no point of 1 core and 1 thread", "that one, and others");
  program.law = ReadLaw(at.At("law"));
  program.start_s = ReadEstimate(at.At("start_s"), 0);
  program.stop_s = ReadEstimate(at.At("stop_s"), 0);
  program.pressure = at.At("pressure").Number(0);
  program.sensitivity = at.At("sensitivity").Number(0);
  ReadSharing(at, &program);
  if (at.Has("stages")) {
    for (const JsonReader& stage : at.At("stages").List())
      program.stages.push_back(ReadStage(stage));
  }
  return program;
}

json ToJson(const CoRun& run) {
  json tenants = json::array();
  for (const CoRun::Tenant& tenant : run.tenants) {
    tenants.push_back({{"program", tenant.program},
                       {"count", tenant.count},
                       {"cores", tenant.cores},
                       {"slowdown", ToJson(tenant.slowdown)}});
  }
  return {{"tenants", tenants}, {"fitted", run.fitted}, {"shared_cores", run.shared_cores}};
}

CoRun ReadCoRun(const JsonReader& at) {
  CoRun run;
  run.fitted = at.At("fitted").Boolean();
  if (at.Has("shared_cores")) run.shared_cores = at.At("shared_cores").Integer(0, kMaxThreads);
  for (const JsonReader& tenant : at.At("tenants").List()) {
    run.tenants.push_back({.program = tenant.At("program").String(),
                           .count = tenant.At("count").Integer(1, kMaxThreads),
                           .cores = tenant.At("cores").Integer(1, kMaxThreads),
                           .slowdown = ReadEstimate(tenant.At("slowdown"), 1e-9)});
  }
  return run;
}

}  // namespace

bool Profile::KnowsFarMemory() const {
  return move_bytes_s.samples > 0 || std::ranges::any_of(programs, [](const ProgramProfile& one) {
           return one.far_memory.samples > 0;
         });
}

const ProgramProfile* Profile::Find(std::string_view program) const {
  const auto found = std::find_if(programs.begin(), programs.end(), [&](const ProgramProfile& one) {
    return one.program == program;
  });
  return found == programs.end() ? nullptr : &*found;
}

Profile LoadProfile(const std::filesystem::path& file) {
  const json value = ParseJson(file, "a profile made by `cosched calibrate`");
  const JsonReader root(file.string(), value);
  root.At("format").Integer(kFormat, kFormat);
  Profile profile;
  profile.source = root.At("source").String();
  profile.host = root.At("host").String();
  profile.version = root.At("version").String();
  profile.date = root.At("date").String();
  profile.cores = root.At("cores").Integer(1, kMaxThreads);
  if (root.Has("threads_per_core"))
    profile.threads_per_core = root.At("threads_per_core").Integer(1, kMaxThreads);
  for (const JsonReader& program : root.At("programs").List()) {
    profile.programs.push_back(ReadProgram(program));
    const std::string& name = profile.programs.back().program;
    if (profile.Find(name) != &profile.programs.back())
      program.Fail(fmt::format("\"{}\" is there twice", name), "each program once");
  }
  for (const JsonReader& run : root.At("co_runs").List()) profile.co_runs.push_back(ReadCoRun(run));
  const JsonReader resize = root.At("resize");
  profile.resize = {.grow = resize.At("grow").Delays(),
                    .shrink = resize.At("shrink").Delays(),
                    .pause = resize.At("pause").Delays(),
                    .resume = resize.At("resume").Delays()};
  if (root.Has("move_bytes_s"))
    profile.move_bytes_s = ReadEstimate(root.At("move_bytes_s"), 1, kMostBytes);
  profile.decision = root.At("decision").Delays();
  for (const JsonReader& note : root.At("notes").List()) profile.notes.push_back(note.String());
  return profile;
}

void SaveProfile(const Profile& profile, const std::filesystem::path& file) {
  json programs = json::array(), co_runs = json::array();
  for (const ProgramProfile& program : profile.programs) programs.push_back(ToJson(program));
  for (const CoRun& run : profile.co_runs) co_runs.push_back(ToJson(run));
  json value = {{"format", kFormat},
                {"source", profile.source},
                {"host", profile.host},
                {"version", profile.version},
                {"date", profile.date},
                {"cores", profile.cores},
                {"programs", programs},
                {"co_runs", co_runs},
                {"resize",
                 {{"grow", profile.resize.grow},
                  {"shrink", profile.resize.shrink},
                  {"pause", profile.resize.pause},
                  {"resume", profile.resize.resume}}},
                {"decision", profile.decision},
                {"notes", profile.notes}};
  if (profile.move_bytes_s.samples > 0) value["move_bytes_s"] = ToJson(profile.move_bytes_s);
  if (profile.threads_per_core > 0) value["threads_per_core"] = profile.threads_per_core;
  std::filesystem::path partial = file;
  partial += ".partial";
  std::ofstream stream(partial);
  stream << value.dump(2) << "\n";
  stream.close();
  std::error_code error;
  if (stream) std::filesystem::rename(partial, file, error);
  if (!stream || error)
    throw OutputError(fmt::format("{}: the profile can't be written", file.string()));
}

}  // namespace cosched
