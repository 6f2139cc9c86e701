#include "policies/external/external_policy.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "engine/base/error.h"
#include "policies/external/policy_process.h"
#include "policies/external/policy_protocol.h"
#include "policies/policy_library.h"

namespace cosched {
namespace {

constexpr const char* kFunction = "CoschedPolicyLibrary";
constexpr size_t kMaxPolicyNameLength = 100;
constexpr Duration kTimeToStart = std::chrono::seconds(10);  // An interpreter on a busy machine.
// Keys of [policy.<name>] that are no parameters.
const std::set<std::string_view> kReserved = {"library", "exec", "directory", "time_limit_s"};

[[noreturn]] void RefusePolicy(const char* key, const std::string& problem,
                               const std::string& allowed) {
  throw InputError({.file = {}, .line = 0, .key = key, .problem = problem, .allowed = allowed});
}

// The name becomes a folder, a CSV cell and a dotted key.
void CheckName(const ExternalPolicy& policy, const char* key) {
  const bool plain = std::all_of(policy.name.begin(), policy.name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_';
  });
  if (policy.name.empty() || policy.name.size() > kMaxPolicyNameLength || !plain) {
    RefusePolicy(key, fmt::format("the policy is called \"{}\"", policy.name),
                 fmt::format("1 to {} letters, digits, '-' and '_'", kMaxPolicyNameLength));
  }
  if (FindPolicy(policy.name)) {
    RefusePolicy(key, fmt::format("\"{}\" is the name of a policy of cosched", policy.name),
                 "another name");
  }
  for (const PolicyParameter& parameter : policy.info.parameters) {
    if (!kReserved.contains(parameter.name)) continue;
    RefusePolicy(key, fmt::format("its parameter \"{}\" means something else here", parameter.name),
                 "another name for it");
  }
}

// A program's process for one cell, or for one look at the parameters.
class ProgramPolicy final : public Policy {
 public:
  ProgramPolicy(const ExternalPolicy& program, const PolicyParameters& parameters)
      : needs_speed_(program.info.needs_speed), time_limit_(program.time_limit) {
    try {
      process_.emplace(program.command, program.directory);
      const Duration limit = std::max(program.time_limit, kTimeToStart);
      tick_period_ = ParseStarted(process_->Ask(StartRequest(parameters), limit));
    } catch (const std::runtime_error& error) {
      problem_ = error.what();  // Told when it is asked, so that it fails a cell and not a run.
    }
  }

  Allocation Decide(const MachineView& view, const Event& event) override {
    if (!problem_.empty()) throw std::runtime_error(problem_);
    const bool first = !std::exchange(asked_, true);
    return ParseDecision(
        process_->Ask(DecideRequest(view, event, needs_speed_, first), time_limit_));
  }

  Duration TickPeriod() const override { return tick_period_; }
  const std::string& problem() const { return problem_; }

 private:
  const bool needs_speed_;
  const Duration time_limit_;
  std::optional<PolicyProcess> process_;
  Duration tick_period_{0};
  bool asked_ = false;
  std::string problem_;
};

ProgramDescription Describe(const ExternalPolicy& policy) {
  try {
    PolicyProcess process(policy.command, policy.directory);
    const Duration limit = std::max(policy.time_limit, kTimeToStart);
    return ParseDescription(process.Ask(DescribeRequest(), limit));
  } catch (const std::runtime_error& error) {
    RefusePolicy("exec",
                 fmt::format("`{}` does not say what it is: {}", policy.command, error.what()),
                 "a program as policies/external/policy_protocol.h describes it");
  }
}

// Takes what the program says of itself into the policy's own texts.
void Adopt(const ProgramDescription& description, ExternalPolicy* policy) {
  std::vector<std::string>& texts = policy->texts;
  texts = {description.summary, description.source};
  for (const ProgramDescription::Parameter& parameter : description.parameters)
    texts.insert(texts.end(), {parameter.name, parameter.fallback, parameter.help});
  policy->info = {.name = policy->name,
                  .summary = texts[0],
                  .source = texts[1],
                  .oversubscribes = description.oversubscribes,
                  .needs_speed = description.needs_speed,
                  .shares = description.shares,
                  .on_settled = description.on_settled};
  for (size_t i = 2; i < texts.size(); i += 3) {
    policy->parameters.push_back({.name = texts[i],
                                  .default_value = texts[i + 1],
                                  .allowed = "text: as the program takes it",
                                  .help = texts[i + 2]});
  }
  policy->info.parameters = policy->parameters;
}

}  // namespace

std::shared_ptr<const ExternalPolicy> OpenPolicyLibrary(const std::filesystem::path& file,
                                                        const std::string& name) {
  const std::string path = std::filesystem::absolute(file).lexically_normal().string();
  // The library stays: what it makes may outlive every experiment.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    const char* error = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is the thread's own.
    RefusePolicy("library", fmt::format("can't be loaded: {}", error ? error : path),
                 "a shared library that exports a policy (policies/policy_library.h)");
  }
  using Function = const PolicyLibrary* (*)();
  const auto function = reinterpret_cast<Function>(dlsym(library, kFunction));
  dlclose(library);
  const std::string allowed = "a library made with this cosched's headers and compiler";
  if (!function) {
    RefusePolicy("library", fmt::format("{} does not export {}", path, kFunction),
                 "a shared library with COSCHED_EXPORT_POLICY (policies/policy_library.h)");
  }
  const PolicyLibrary& exported = *function();
  if (exported.version != kPolicyLibraryVersion) {
    RefusePolicy("library",
                 fmt::format("{} is of version {} of the interface, this cosched of {}", path,
                             exported.version, kPolicyLibraryVersion),
                 allowed);
  }
  if (exported.layout != PolicyLibraryLayout()) {
    RefusePolicy("library", fmt::format("{} was made with other headers or another compiler", path),
                 allowed);
  }
  auto policy = std::make_shared<ExternalPolicy>();
  policy->info = exported.policy();
  policy->name = name.empty() ? policy->info.name : name;
  policy->info.name = policy->name;
  policy->library = path;
  CheckName(*policy, "library");
  return policy;
}

std::shared_ptr<const ExternalPolicy> OpenPolicyProgram(const std::string& command,
                                                        const std::filesystem::path& directory,
                                                        Duration time_limit,
                                                        const std::string& name) {
  auto policy = std::make_shared<ExternalPolicy>();
  policy->command = command;
  policy->directory = std::filesystem::absolute(directory).lexically_normal();
  policy->time_limit = time_limit;
  const ProgramDescription description = Describe(*policy);
  policy->name = name.empty() ? description.name : name;
  Adopt(description, policy.get());
  CheckName(*policy, "exec");
  // The policy outlives what its own PolicyInfo makes: both belong to the experiment.
  policy->info.make = [program = policy.get()](const PolicyParameters& parameters) {
    return std::make_unique<ProgramPolicy>(*program, parameters);
  };
  return policy;
}

std::shared_ptr<const ExternalPolicy> VariantOf(const PolicyInfo& policy, const std::string& name) {
  auto variant = std::make_shared<ExternalPolicy>();
  variant->uses = policy.name;
  variant->name = name;
  variant->info = policy;
  variant->info.name = variant->name;
  CheckName(*variant, "use");
  return variant;
}

std::string WhyProgramRefuses(const ExternalPolicy& policy, const PolicyParameters& parameters) {
  const std::unique_ptr<Policy> made = MakePolicy(policy.info, parameters);
  const auto* program = dynamic_cast<const ProgramPolicy*>(made.get());
  return program ? program->problem() : "";
}

}  // namespace cosched
