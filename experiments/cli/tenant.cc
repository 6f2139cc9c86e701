#include "experiments/cli/tenant.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
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
#include "experiments/cli/cores_option.h"
#include "experiments/cli/deterministic_option.h"
#include "experiments/cli/follow_option.h"
#include "experiments/cli/kernel_rates_option.h"
#include "experiments/cli/program_options.h"
#include "experiments/cli/typed_option.h"
#include "experiments/config/kernel_rates_choice.h"
#include "experiments/config/option_refusal.h"
#include "experiments/tenant/control_thread.h"
#include "experiments/tenant/hosted_device.h"
#include "experiments/tenant/hosted_tenant.h"
#include "experiments/tenant/interactive_service.h"
#include "experiments/tenant/interactive_tenant.h"
#include "experiments/wire/tenant_start.h"
#include "workloads/auto_split.h"

namespace cosched {
namespace {

constexpr int64_t kMostSteps = 1'000'000'000;
constexpr int64_t kMostNodes = 1'000'000'000'000;
constexpr int64_t kMostSeconds = 10'000'000;
constexpr double kMostDelayMilliseconds = 1000;
constexpr double kHighestRate = 1e7;

enum class TenantWork { kTrain, kInfer, kServe };

struct TenantArguments {
  std::string model = "resnet20";
  TenantWork mode = TenantWork::kTrain;
  std::string dataset = "procedural";
  std::string data;
  int batch = 32;
  std::optional<int> max_batch;
  double max_delay_ms = 0;
  int64_t requests = 1000;
  double rate = 100;
  int64_t steps = 50;
  uint64_t seed = 1;
  Precision precision = Precision::kFloat;
  bool deterministic = true;
  std::string kernel_rates = kMeasuredRates;
  std::string cores;
  std::optional<int> threads;
  int inter = 1;
  bool auto_split = false;
  int64_t spin_us = kSpin / std::chrono::microseconds(1);
  std::vector<std::string> resize_at;
  std::optional<int64_t> seconds;
  std::string images;
  std::string load_weights;
  std::string save_weights;
  std::string control;
  FollowRule follow = FollowRule::kCeil;
  // By a host only.
  int host_fd = -1;
  int counters_fd = -1;
  pid_t host_pid = -1;
  std::string host_socket;
  std::string start;
  std::string device;
};

TenantSpec Spec(const TenantArguments& arguments) {
  TenantSpec spec;
  spec.model = arguments.model;
  spec.serves = arguments.mode == TenantWork::kServe;
  spec.mode = arguments.mode == TenantWork::kTrain ? Mode::kTrain : Mode::kInfer;
  spec.dataset = arguments.dataset;
  spec.data_directory = arguments.data;
  spec.batch = arguments.batch;
  spec.steps = arguments.steps;
  spec.auto_split = arguments.auto_split;
  spec.spin = std::chrono::microseconds(arguments.spin_us);
  spec.deterministic = arguments.deterministic;
  if (spec.auto_split && !spec.deterministic)
    RefuseOption("--no-deterministic",
                 fmt::format("with --split auto {}", kWhyTriedSplitsAreDeterministic),
                 "one of them");
  spec.rates = KernelRatesOption(arguments.kernel_rates);
  if (spec.serves) {
    spec.steps = 0;
    spec.batch = arguments.max_batch.value_or(arguments.batch);
    spec.max_delay = FromSeconds(arguments.max_delay_ms / 1e3);
  }
  spec.seed = arguments.seed;
  spec.precision = arguments.precision;
  CheckPrecision(spec.precision);
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
  if (parts.size() != 2) return std::nullopt;
  const std::optional<int> inter = ReadNumber<int>(parts[0], 1, most.inter);
  const std::optional<int> intra = ReadNumber<int>(parts[1], 1, most.intra);
  if (!inter || !intra) return std::nullopt;
  return Split{*inter, *intra};
}

// "STEP:CORES" or "STEP:CORES:INTERxINTRA", or the same with "node:N" for the step.
std::optional<InteractiveTenantOptions::Resize> ParseResize(std::string_view text,
                                                            int64_t last_step, int most_cores,
                                                            Split most) {
  std::vector<std::string_view> parts = Parts(text, ':');
  const bool node = parts.front() == "node";
  if (node) parts.erase(parts.begin());
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  const auto at = ReadNumber<int64_t>(parts[0], 0, node ? kMostNodes : last_step);
  const auto cores = ReadNumber<int>(parts[1], 1, most_cores);
  if (!at || !cores) return std::nullopt;
  InteractiveTenantOptions::Resize resize{.at = *at, .node = node, .cores = *cores, .split = {}};
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
  if (parts.size() == 2) {
    const auto first = ReadNumber<int64_t>(parts[0], 0, kMostImages);
    const auto count = ReadNumber<int64_t>(parts[1], 1, kMostImages);
    if (first && count) {
      options->first_image = *first;
      options->images = *count;
      return;
    }
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
  options.requests = arguments.requests;
  options.rate = arguments.rate;
  options.seconds = tenant.seconds;
  options.cores = tenant.cores;
  options.threads = tenant.threads;
  options.control = tenant.control;
  options.follow = tenant.follow;
  options.load_weights = arguments.load_weights;
  return RunInteractiveService(options, topology);
}

int RunByPerson(const TenantArguments& arguments) {
  ResizeSignals::Block();
  const Topology topology = Topology::ThisMachine();
  InteractiveTenantOptions options;
  options.spec = Spec(arguments);
  options.cores = arguments.cores.empty() ? topology.OneThreadPerCore()
                                          : CoresOption(arguments.cores, topology.Cpus());
  const int most = options.cores.Count();
  options.threads.intra = arguments.threads.value_or(most);
  CheckNumber("--threads", options.threads.intra, 1, most);
  options.threads.inter = options.spec.auto_split ? most : arguments.inter;
  CheckNumber("--inter", options.threads.inter, 1, most);
  if (!options.spec.serves)
    options.resizes = Resizes(arguments.resize_at, options.spec.steps, most, options.threads);
  options.seconds = static_cast<double>(arguments.seconds.value_or(0));
  options.follow = arguments.follow;
  options.control = arguments.control;
  if (options.spec.serves) return ServeForPerson(arguments, options, topology);
  if (!arguments.images.empty()) ReadImages(arguments.images, &options);
  options.load_weights = arguments.load_weights;
  options.save_weights = arguments.save_weights;
  if (!options.save_weights.empty()) CheckSaving(options.save_weights, options.spec.mode);
  return RunInteractiveTenant(options, topology);
}

HostAddress AddressOf(const TenantArguments& arguments) {
  return {.host_fd = arguments.host_fd,
          .counters_fd = arguments.counters_fd,
          .host_pid = arguments.host_pid,
          .host_socket = arguments.host_socket};
}

int RunByHost(const TenantArguments& arguments) {
  if (!arguments.device.empty())
    return RunHostedDevice({ParseDeviceStart(arguments.device), AddressOf(arguments)});
  ResizeSignals::Block();
  HostedTenantOptions options;
  static_cast<TenantStart&>(options) = ParseTenantStart(arguments.start);
  static_cast<HostAddress&>(options) = AddressOf(arguments);
  options.control = arguments.control;
  return RunHostedTenant(options);
}

void AddHostOptions(CLI::App* command, TenantArguments* arguments) {
  constexpr int kMost = std::numeric_limits<int>::max();
  for (CLI::Option* option :
       {AddNumber(command, "--host-fd", &arguments->host_fd, 3, kMost, ""),
        AddNumber(command, "--counters-fd", &arguments->counters_fd, 3, kMost, ""),
        AddNumber(command, "--host-pid", &arguments->host_pid, 1, kMost, ""),
        command->add_option("--host-socket", arguments->host_socket),
        command->add_option("--start", arguments->start),
        command->add_option("--device", arguments->device)}) {
    option->group("");
  }
}

// Whether a host has started it. CLI11 has no name for a hidden option that another one needs.
bool IsByHost(const CLI::App& command) {
  const bool by_fd = command.count("--host-fd") > 0, by_socket = command.count("--host-socket") > 0;
  if (by_fd && by_socket)
    RefuseOption("--host-fd", "is given beside --host-socket", "one of the two");
  if (!by_fd && !by_socket) {
    for (const char* option : {"--counters-fd", "--host-pid", "--start", "--device"}) {
      if (command.count(option) > 0)
        RefuseOption(option, "is of a host", "only with --host-fd or --host-socket");
    }
    return false;
  }
  std::vector<const char*> needed;
  if (command.count("--device") == 0) needed.push_back("--start");
  if (by_fd) needed.insert(needed.end(), {"--counters-fd", "--host-pid"});
  for (const char* option : needed) {
    if (command.count(option) == 0)
      RefuseOption(option, "is required", "what a host tells of itself");
  }
  return true;
}

}  // namespace

void AddTenantCommand(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("tenant", "Train, run or serve one CNN program, resizing it on the way");
  const auto arguments = std::make_shared<TenantArguments>();
  command->add_option("--model", arguments->model, "See `cosched list models`")
      ->capture_default_str();
  AddChoice(
      command, "--mode", &arguments->mode,
      {{"train", TenantWork::kTrain}, {"infer", TenantWork::kInfer}, {"serve", TenantWork::kServe}},
      "What to do with it");
  command->add_option("--dataset", arguments->dataset, "procedural, mnist or cifar10")
      ->capture_default_str();
  command->add_option("--data", arguments->data, "Folder of the mnist or cifar10 files");
  AddNumber(command, "--batch", &arguments->batch, 1, kLargestBatch, "Images a step");
  AddNumber(command, "--max-batch", &arguments->max_batch, 1, kLargestBatch,
            "serve: most requests answered at once; default: --batch");
  AddNumber(command, "--max-delay-ms", &arguments->max_delay_ms, 0, kMostDelayMilliseconds,
            "serve: how long fewer requests than that wait for more");
  AddNumber(command, "--requests", &arguments->requests, 1, kMostSteps,
            "serve: requests to answer");
  AddNumber(command, "--rate", &arguments->rate, 1e-3, kHighestRate,
            "serve: requests a second, at random times whatever became of those before");
  AddNumber(command, "--steps", &arguments->steps, 0, kMostSteps,
            "Steps to do; 0: until it is stopped");
  AddNumber(command, "--seed", &arguments->seed, 0, std::numeric_limits<int64_t>::max(),
            "Of weights and of the images' order");
  AddPrecisionOption(command, &arguments->precision);
  AddDeterministicOption(command, &arguments->deterministic);
  AddKernelRatesOption(command, &arguments->kernel_rates);
  command->add_option("--cores", arguments->cores,
                      "Cores to run on, such as 0-3,5; default: one thread of each");
  AddNumber(command, "--threads", &arguments->threads, 1, kMostThreads,
            "Most threads of the intra-op pool; default: one a core, which is the most");
  AddNumber(command, "--inter", &arguments->inter, 1, kMostThreads,
            "Most threads of the inter-op pool; one a core at most");
  AddChoice(command, "--split", &arguments->auto_split, {{"fixed", false}, {"auto", true}},
            "auto: find the fastest inter x intra for the cores of the moment, within "
            "--threads; fixed: --inter and --threads");
  AddNumber(command, "--spin-us", &arguments->spin_us, 0, kMostSpinMicroseconds,
            "How long, at most, a thread without work looks for some before it sleeps");
  command->add_option("--resize-at", arguments->resize_at,
                      "STEP:CORES[:INTERxINTRA] or node:N:CORES[:INTERxINTRA], may be repeated: "
                      "during that step, or "
                      "when the N-th node begins, move to the first CORES cores, with that split");
  AddNumber(command, "--seconds", &arguments->seconds, 1, kMostSeconds,
            "Stop after so many seconds");
  command->add_option("--images", arguments->images,
                      "FIRST:COUNT: only this part of the data set; default: all of it");
  command->add_option("--load-weights", arguments->load_weights,
                      "Start from the weights in this file (format: workloads/weights_file.h)");
  command->add_option("--save-weights", arguments->save_weights,
                      "Write the weights to this file after the last step of training");
  command->add_option(
      "--control", arguments->control,
      "Where to listen for `cosched ctl`; default: a socket of its own in a private folder");
  AddFollowOption(command, &arguments->follow);
  // A host gives either two descriptors, or the path of its socket and through that the page.
  AddHostOptions(command, arguments.get());
  command->callback([command, arguments, exit_code] {
    *exit_code = IsByHost(*command) ? RunByHost(*arguments) : RunByPerson(*arguments);
  });
}

}  // namespace cosched
