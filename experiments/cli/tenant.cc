#include "experiments/cli/tenant.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/topology.h"
#include "experiments/cli/deterministic_option.h"
#include "experiments/cli/kernel_rates_option.h"
#include "experiments/config/kernel_rates_choice.h"
#include "experiments/config/option_refusal.h"
#include "experiments/tenant/control_thread.h"
#include "experiments/tenant/hosted_tenant.h"
#include "experiments/tenant/interactive_service.h"
#include "experiments/tenant/interactive_tenant.h"

namespace cosched {
namespace {

constexpr int64_t kMostSteps = 1'000'000'000;
constexpr int64_t kMostNodes = 1'000'000'000'000;
constexpr int64_t kMostSeconds = 10'000'000;
constexpr int64_t kLargestBatch = 65536;
constexpr double kMostDelayMilliseconds = 1000;
constexpr double kHighestRate = 1e7;
constexpr int64_t kMostThreads = CpuSet::kMaxCpu + 1;

// As text, so that every bad value gets the same kind of message; empty = not given.
struct TenantArguments {
  std::string model = "resnet20";
  std::string mode = "train";
  std::string dataset = "procedural";
  std::string data;
  std::string batch = "32";
  std::string max_batch;
  std::string max_delay_ms = "0";
  std::string requests = "1000";
  std::string rate = "100";
  std::string steps = "50";
  std::string seed = "1";
  std::string precision = "f32";
  bool deterministic = true;
  std::string kernel_rates = kMeasuredRates;
  std::string cores;
  std::string threads;
  std::string inter = "1";
  std::string split = "fixed";
  std::string spin_us = std::to_string(kSpin / std::chrono::microseconds(1));
  std::vector<std::string> resize_at;
  std::string seconds;
  std::string images;
  std::string load_weights;
  std::string save_weights;
  std::string control;
  // By a host only.
  std::string host_fd;
  std::string counters_fd;
  std::string host_pid;
  std::string host_socket;
  std::string job;
  std::string elasticity = "malleable";
  std::string client = "on";
  std::string capacity;
  bool unbound = false;
};

bool ParseNumber(std::string_view text, int64_t low, int64_t high, int64_t* number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && rest == end && *number >= low && *number <= high;
}

int64_t WholeNumber(std::string_view option, std::string_view text, int64_t low, int64_t high) {
  int64_t number;
  if (!ParseNumber(text, low, high, &number)) {
    RefuseValue(option, text, fmt::format("an integer from {} to {}", low, high));
  }
  return number;
}

int SmallNumber(std::string_view option, std::string_view text, int64_t low, int64_t high) {
  return static_cast<int>(WholeNumber(option, text, low, high));
}

double Real(std::string_view option, std::string_view text, double low, double high) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || !(number >= low && number <= high))
    RefuseValue(option, text, fmt::format("a number from {} to {}", low, high));
  return number;
}

CpuSet TenantCores(const std::string& text, const CpuSet& machine) {
  const std::optional<CpuSet> cores = CpuSet::Parse(text);
  if (!cores || cores->Empty() || !machine.Contains(*cores)) {
    RefuseValue("--cores", text, "an interval set such as \"0-3,5\" within " + machine.ToString());
  }
  return *cores;
}

TenantSpec Spec(const TenantArguments& arguments) {
  TenantSpec spec;
  spec.model = arguments.model;
  spec.serves = arguments.mode == "serve";
  if (spec.serves) {
    spec.mode = Mode::kInfer;
  } else if (!ParseMode(arguments.mode, &spec.mode)) {
    RefuseValue("--mode", arguments.mode, "train, infer or serve");
  }
  spec.dataset = arguments.dataset;
  spec.data_directory = arguments.data;
  spec.batch = SmallNumber("--batch", arguments.batch, 1, kLargestBatch);
  spec.steps = WholeNumber("--steps", arguments.steps, 0, kMostSteps);
  if (arguments.split != "auto" && arguments.split != "fixed")
    RefuseValue("--split", arguments.split, "fixed or auto");
  spec.auto_split = arguments.split == "auto";
  spec.spin = std::chrono::microseconds(
      WholeNumber("--spin-us", arguments.spin_us, 0, kMostSpinMicroseconds));
  spec.deterministic = arguments.deterministic;
  if (spec.auto_split && !spec.deterministic) {
    RefuseOption(
        "--no-deterministic", "with --split auto",
        "one of them: each split that is tried would be measured with the making of its kernels");
  }
  spec.rates = KernelRatesOption(arguments.kernel_rates);
  if (spec.serves) {
    spec.steps = 0;
    if (!arguments.max_batch.empty())
      spec.batch = SmallNumber("--max-batch", arguments.max_batch, 1, kLargestBatch);
    spec.max_delay = FromSeconds(
        Real("--max-delay-ms", arguments.max_delay_ms, 0, kMostDelayMilliseconds) / 1e3);
  }
  spec.seed = static_cast<uint64_t>(
      WholeNumber("--seed", arguments.seed, 0, std::numeric_limits<int64_t>::max()));
  if (!ParsePrecision(arguments.precision, &spec.precision))
    RefuseValue("--precision", arguments.precision, "f32 or bf16");
  const std::string problem = PrecisionProblem(spec.precision);
  if (!problem.empty()) {
    throw InputError(
        {.file = "command line", .key = "--precision", .problem = problem, .allowed = "f32"});
  }
  return spec;
}

std::vector<std::string_view> Parts(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    if (end == text.size()) return parts;
    begin = end + 1;
  }
}

std::optional<Split> ParseSplit(std::string_view text, Split most) {
  const std::vector<std::string_view> parts = Parts(text, 'x');
  int64_t inter = 0, intra = 0;
  if (parts.size() != 2 || !ParseNumber(parts[0], 1, most.inter, &inter) ||
      !ParseNumber(parts[1], 1, most.intra, &intra)) {
    return std::nullopt;
  }
  return Split{static_cast<int>(inter), static_cast<int>(intra)};
}

// "STEP:CORES" or "STEP:CORES:INTERxINTRA", or the same with "node:N" for the step.
std::optional<InteractiveTenantOptions::Resize> ParseResize(std::string_view text,
                                                            int64_t last_step, int cores,
                                                            Split most) {
  std::vector<std::string_view> parts = Parts(text, ':');
  InteractiveTenantOptions::Resize resize;
  resize.node = parts.front() == "node";
  if (resize.node) parts.erase(parts.begin());
  int64_t count = 0;
  if (parts.size() < 2 || parts.size() > 3 ||
      !ParseNumber(parts[0], 0, resize.node ? kMostNodes : last_step, &resize.at) ||
      !ParseNumber(parts[1], 1, cores, &count)) {
    return std::nullopt;
  }
  resize.cores = static_cast<int>(count);
  if (parts.size() == 3) {
    resize.split = ParseSplit(parts[2], most);
    if (!resize.split) return std::nullopt;
  }
  return resize;
}

std::vector<InteractiveTenantOptions::Resize> Resizes(const std::vector<std::string>& texts,
                                                      int64_t steps, int cores, Split most) {
  const int64_t last_step = steps > 0 ? steps - 1 : kMostSteps;
  std::vector<InteractiveTenantOptions::Resize> resizes;
  for (const std::string& text : texts) {
    const auto resize = ParseResize(text, last_step, cores, most);
    if (!resize) {
      RefuseValue(
          "--resize-at", text,
          fmt::format("STEP:CORES, node:N:CORES or either with :INTERxINTRA, STEP from 0 to {}, "
                      "CORES from 1 to {}, INTER from 1 to {} and INTRA from 1 to {}",
                      last_step, cores, most.inter, most.intra));
    }
    resizes.push_back(*resize);
  }
  std::sort(resizes.begin(), resizes.end(), [](const auto& a, const auto& b) {
    return std::pair(a.node, a.at) < std::pair(b.node, b.at);
  });
  const auto same =
      std::adjacent_find(resizes.begin(), resizes.end(), [](const auto& a, const auto& b) {
        return std::pair(a.node, a.at) == std::pair(b.node, b.at);
      });
  if (same != resizes.end()) {
    RefuseValue("--resize-at", fmt::format("{} {} twice", same->node ? "node" : "step", same->at),
                "one resize at each");
  }
  return resizes;
}

void ReadImages(const std::string& text, InteractiveTenantOptions* options) {
  constexpr int64_t kMostImages = 1'000'000'000;
  const std::vector<std::string_view> parts = Parts(text, ':');
  if (parts.size() == 2 && ParseNumber(parts[0], 0, kMostImages, &options->first_image) &&
      ParseNumber(parts[1], 1, kMostImages, &options->images)) {
    return;
  }
  RefuseValue("--images", text, "FIRST:COUNT, such as 0:8000");
}

// Before anything is trained: it would be a pity to find out afterwards.
void CheckSaving(const std::string& file, Mode mode) {
  if (mode != Mode::kTrain) RefuseValue("--save-weights", file, "only with --mode train");
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  if (std::filesystem::is_directory(file, ignored) ||
      !std::filesystem::is_directory(folder, ignored)) {
    RefuseValue("--save-weights", file, "a file in a folder that is there");
  }
}

int ServeForPerson(const TenantArguments& arguments, const InteractiveTenantOptions& tenant,
                   const Topology& topology) {
  if (!arguments.resize_at.empty()) {
    RefuseValue(
        "--resize-at", arguments.resize_at.front(),
        "only with --mode train or infer; a service has no steps, but `cosched ctl` resizes it");
  }
  if (tenant.spec.auto_split)
    RefuseValue("--split", "auto", "fixed; a service has no steps to try on");
  for (const auto& [option, value] : {std::pair("--images", &arguments.images),
                                      std::pair("--save-weights", &arguments.save_weights)}) {
    if (!value->empty()) RefuseValue(option, *value, "only with --mode train or infer");
  }
  InteractiveServiceOptions options;
  options.spec = tenant.spec;
  options.requests = WholeNumber("--requests", arguments.requests, 1, kMostSteps);
  options.rate = Real("--rate", arguments.rate, 1e-3, kHighestRate);
  options.seconds = tenant.seconds;
  options.cores = tenant.cores;
  options.threads = tenant.threads;
  options.control = tenant.control;
  options.load_weights = arguments.load_weights;
  return RunInteractiveService(options, topology);
}

int RunByPerson(const TenantArguments& arguments) {
  ResizeSignals::Block();
  const Topology topology = Topology::ThisMachine();
  InteractiveTenantOptions options;
  options.spec = Spec(arguments);
  options.cores =
      arguments.cores.empty() ? topology.Cpus() : TenantCores(arguments.cores, topology.Cpus());
  const int most = options.cores.Count();
  options.threads.intra =
      arguments.threads.empty() ? most : SmallNumber("--threads", arguments.threads, 1, most);
  options.threads.inter =
      options.spec.auto_split ? most : SmallNumber("--inter", arguments.inter, 1, most);
  if (!options.spec.serves)
    options.resizes = Resizes(arguments.resize_at, options.spec.steps, most, options.threads);
  if (!arguments.seconds.empty()) {
    options.seconds =
        static_cast<double>(WholeNumber("--seconds", arguments.seconds, 1, kMostSeconds));
  }
  options.control = arguments.control;
  if (options.spec.serves) return ServeForPerson(arguments, options, topology);
  if (!arguments.images.empty()) ReadImages(arguments.images, &options);
  options.load_weights = arguments.load_weights;
  options.save_weights = arguments.save_weights;
  if (!options.save_weights.empty()) CheckSaving(options.save_weights, options.spec.mode);
  return RunInteractiveTenant(options, topology);
}

int RunByHost(const TenantArguments& arguments) {
  ResizeSignals::Block();
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  HostedTenantOptions options;
  if (arguments.host_socket.empty()) {
    options.host_fd = SmallNumber("--host-fd", arguments.host_fd, 3, kMost);
    options.counters_fd = SmallNumber("--counters-fd", arguments.counters_fd, 3, kMost);
    options.host_pid = SmallNumber("--host-pid", arguments.host_pid, 1, kMost);
  }
  options.host_socket = arguments.host_socket;
  options.job = JobId{WholeNumber("--job", arguments.job, 0, std::numeric_limits<int64_t>::max())};
  if (!ParseElasticity(arguments.elasticity, &options.elasticity)) {
    RefuseValue("--elasticity", arguments.elasticity, "rigid, moldable or malleable");
  }
  options.unbound = arguments.unbound;
  const std::optional<Client> client = ParseClient(arguments.client);
  if (!client) RefuseValue("--client", arguments.client, "on, off or halving");
  options.client = *client;
  options.control = arguments.control;
  options.capacity = SmallNumber("--capacity", arguments.capacity, 1, kMostThreads);
  options.cores = TenantCores(arguments.cores, CpuSet::Range(0, CpuSet::kMaxCpu));
  options.threads.inter = SmallNumber("--inter", arguments.inter, 1, kMostThreads);
  options.threads.intra = SmallNumber("--threads", arguments.threads, 1, kMostThreads);
  options.spec = Spec(arguments);
  return RunHostedTenant(options);
}

}  // namespace

void AddTenantCommand(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("tenant", "Train, run or serve one CNN program, resizing it on the way");
  const auto arguments = std::make_shared<TenantArguments>();
  command->add_option("--model", arguments->model, "See `cosched list models`")
      ->capture_default_str();
  command->add_option("--mode", arguments->mode, "train, infer or serve")->capture_default_str();
  command->add_option("--dataset", arguments->dataset, "procedural, mnist or cifar10")
      ->capture_default_str();
  command->add_option("--data", arguments->data, "Folder of the mnist or cifar10 files");
  command->add_option("--batch", arguments->batch, "Images a step")->capture_default_str();
  command->add_option("--max-batch", arguments->max_batch,
                      "serve: most requests answered at once; default: --batch");
  command
      ->add_option("--max-delay-ms", arguments->max_delay_ms,
                   "serve: how long fewer requests than that wait for more")
      ->capture_default_str();
  command->add_option("--requests", arguments->requests, "serve: requests to answer")
      ->capture_default_str();
  command
      ->add_option("--rate", arguments->rate,
                   "serve: requests a second, at random times whatever became of those before")
      ->capture_default_str();
  command->add_option("--steps", arguments->steps, "Steps to do; 0: until it is stopped")
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "Of weights and of the images' order")
      ->capture_default_str();
  command->add_option("--precision", arguments->precision, "Of images: f32 or bf16")
      ->capture_default_str();
  AddDeterministicOption(command, &arguments->deterministic);
  AddKernelRatesOption(command, &arguments->kernel_rates);
  command->add_option("--cores", arguments->cores, "Cores to run on, such as 0-3,5; default: all");
  command->add_option("--threads", arguments->threads,
                      "Most threads of the intra-op pool; default: one a core");
  command->add_option("--inter", arguments->inter, "Most threads of the inter-op pool")
      ->capture_default_str();
  command
      ->add_option("--split", arguments->split,
                   "auto: find the fastest inter x intra for the cores of the moment, within "
                   "--threads; fixed: --inter and --threads")
      ->capture_default_str();
  command
      ->add_option("--spin-us", arguments->spin_us,
                   "How long, at most, a thread without work looks for some before it sleeps")
      ->capture_default_str();
  command->add_option("--resize-at", arguments->resize_at,
                      "STEP:CORES[:INTERxINTRA] or node:N:CORES[:INTERxINTRA], may be repeated: "
                      "during that step, or "
                      "when the N-th node begins, move to the first CORES cores, with that split");
  command->add_option("--seconds", arguments->seconds, "Stop after so many seconds");
  command->add_option("--images", arguments->images,
                      "FIRST:COUNT: only this part of the data set; default: all of it");
  command->add_option("--load-weights", arguments->load_weights,
                      "Start from the weights in this file (format: workloads/weights_file.h)");
  command->add_option("--save-weights", arguments->save_weights,
                      "Write the weights to this file after the last step of training");
  command->add_option(
      "--control", arguments->control,
      "Where to listen for `cosched ctl`; default: a socket of its own in a private folder");
  const auto hidden = [command](const char* name, std::string* value) {
    return command->add_option(name, *value)->group("");
  };
  // A host gives either the two descriptors, or the path of its socket and through that the page.
  CLI::Option* host_fd = hidden("--host-fd", &arguments->host_fd);
  CLI::Option* host_socket = hidden("--host-socket", &arguments->host_socket)->excludes(host_fd);
  hidden("--counters-fd", &arguments->counters_fd)->needs(host_fd);
  hidden("--host-pid", &arguments->host_pid)->needs(host_fd);
  CLI::Option* job = hidden("--job", &arguments->job);
  for (CLI::Option* option :
       {hidden("--elasticity", &arguments->elasticity), hidden("--client", &arguments->client),
        hidden("--capacity", &arguments->capacity)}) {
    option->needs(job);
  }
  command->add_flag("--unbound", arguments->unbound)->group("")->needs(job);
  command->callback([arguments, exit_code, host_fd, host_socket, job] {
    const bool hosted = host_fd->count() + host_socket->count() > 0;
    if (!hosted && job->count() > 0) {
      RefuseValue("--job", arguments->job, "only with --host-fd or --host-socket");
    }
    *exit_code = hosted ? RunByHost(*arguments) : RunByPerson(*arguments);
  });
}

}  // namespace cosched
