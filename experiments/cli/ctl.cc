#include "experiments/cli/ctl.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/read_number.h"
#include "experiments/config/option_refusal.h"
#include "experiments/os/process_sampler.h"
#include "experiments/tenant/resize_signals.h"
#include "experiments/wire/control_socket.h"
#include "experiments/wire/resize_latencies.h"
#include "experiments/wire/tenant_protocol.h"

namespace cosched {
namespace {

// A shrink waits for a safe point inside an op; longer than this is no tenant that follows.
constexpr int kAnswerMilliseconds = 30'000;

struct ControlArguments {
  std::string target;
  std::vector<std::string> settings;  // "cores=0-3", "intra=4", …
  bool json = false;
  bool by_signal = false;
};

// What a tenant can't do, or did not.
[[noreturn]] void RefuseTarget(const std::string& target, std::string problem,
                               std::string allowed = "") {
  InputErrorDetails details;
  details.key = target;
  details.problem = std::move(problem);
  details.allowed = std::move(allowed);
  throw InputError(std::move(details));
}

int Threads(const std::string& name, const std::string& text) {
  const std::optional<int> threads = ReadNumber<int>(text, 0, CpuSet::kMaxCpu + 1);
  if (!threads)
    RefuseValue(name, text, "a number of threads from 0 (pause) to the tenant's capacity");
  return *threads;
}

CpuSet ControlledCores(const std::string& text) {
  const std::optional<CpuSet> cores = CpuSet::Parse(text);
  if (!cores || cores->Empty()) {
    RefuseValue("cores", text, "an interval set such as \"0-3,5\"");
  }
  return *cores;
}

ControlRequest SetRequest(const std::vector<std::string>& settings) {
  ControlRequest request;
  request.verb = ControlRequest::Verb::kSet;
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    const std::string name = setting.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : setting.substr(equals + 1);
    const bool twice = (name == "cores" && request.cores) || (name == "inter" && request.inter) ||
                       (name == "intra" && request.intra);
    if (twice) RefuseOption(name, "is given twice", "one value");
    if (name == "cores") {
      request.cores = ControlledCores(value);
    } else if (name == "inter") {
      request.inter = Threads(name, value);
    } else if (name == "intra") {
      request.intra = Threads(name, value);
    } else {
      RefuseOption(setting, "no setting", "cores=SET, intra=N or inter=N, such as cores=0-3");
    }
  }
  return request;
}

// The answer as it came, and what it says.
struct Answer {
  std::string text;
  ControlReply reply;
};

// A host stops a tenant's whole process while it is paused.
bool IsStopped(pid_t tenant) {
  ProcessSampler process(tenant);
  return process.Read() && std::all_of(process.Threads().begin(), process.Threads().end(),
                                       [](const auto& thread) { return thread.state == 'T'; });
}

// What it was asked now it would do at some later time, when nobody wants that any more.
void RefuseStopped(const std::string& target, pid_t tenant) {
  if (!IsStopped(tenant)) return;
  RefuseTarget(target, "it is stopped: its host has paused it", "ask again when it has cores");
}

pid_t ProcessBehind(const UniqueFd& tenant) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(tenant.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : -1;
}

Answer Ask(const std::string& target, ControlRequest request) {
  request.id = 1;
  const UniqueFd tenant = ConnectToTenant(target);
  RefuseStopped(target, ProcessBehind(tenant));
  Answer answer;
  // What it says before it hangs up on us, if it refuses, comes first.
  SendPacket(tenant.get(), Encode(request));
  pollfd descriptor{tenant.get(), POLLIN, 0};
  int ready;
  do {
    ready = poll(&descriptor, 1, kAnswerMilliseconds);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) {
    RefuseTarget(target, fmt::format("no answer within {} s", kAnswerMilliseconds / 1000));
  }
  if (ReceivePacket(tenant.get(), &answer.text) != Receipt::kPacket) {
    RefuseTarget(target, "the tenant ended before it answered");
  }
  const Parsed<ControlReply> parsed = ParseControlReply(answer.text);
  if (!parsed.message) RefuseTarget(target, "its answer can't be read: " + parsed.error);
  answer.reply = *parsed.message;
  if (const auto* error = std::get_if<ErrorReply>(&answer.reply))
    RefuseTarget(target, error->reason);
  return answer;
}

std::string Describe(Split threads, const CpuSet& cores) {
  if (threads == Split{0, 0}) return "paused";
  return fmt::format("cores {}, inter {} x intra {}", cores.ToString(), threads.inter,
                     threads.intra);
}

void PrintStatus(const StatusReply& status) {
  fmt::print("{}{}\n", status.program,
             status.job >= 0 ? fmt::format(", job {} of its host", status.job) : "");
  if (!status.ready) {
    fmt::print("not computing: the model is being built, or it ends\n");
    return;
  }
  fmt::print("step      {}{}, {} images, {:.1f} images/s in the last second\n", status.step,
             status.steps > 0 ? fmt::format("/{}", status.steps) : "", status.images,
             status.images_per_second);
  fmt::print("threads   {} active; {}{}\n", status.active_threads,
             Describe(status.threads, status.cores), status.paused ? " (by ctl)" : "");
  if (status.wanted != status.threads && status.threads != Split{0, 0}) {
    fmt::print("wanted    inter {} x intra {}: never more threads than cores\n",
               status.wanted.inter, status.wanted.intra);
  }
  fmt::print("may use   cores {}, inter 1-{}, intra 1-{}\n", status.may_use.ToString(),
             status.capacity.inter, status.capacity.intra);
  fmt::print("resizes   {}\n", status.grow.count + status.shrink.count);
  fmt::print("{}{}", LatencyLine("  grow", status.grow), LatencyLine("  shrink", status.shrink));
  if (status.signals_ignored > 0) fmt::print("ignored   {} signals\n", status.signals_ignored);
}

void PrintAnswer(const ControlArguments& arguments, const ControlRequest& request) {
  const Answer answer = Ask(arguments.target, request);
  if (arguments.json) {
    fmt::print("{}\n", answer.text);
  } else if (const auto* status = std::get_if<StatusReply>(&answer.reply)) {
    PrintStatus(*status);
  } else if (request.verb == ControlRequest::Verb::kStop) {
    fmt::print("stopping\n");
  } else {
    const auto& ok = std::get<OkReply>(answer.reply);
    const bool fewer = request.inter.value_or(0) > ok.threads.inter ||
                       request.intra.value_or(0) > ok.threads.intra;
    const bool runs = ok.threads != Split{0, 0};
    fmt::print("{}{}, in {} us\n", Describe(ok.threads, ok.cores),
               fewer && runs ? " (never more threads than cores)" : "", ok.time.count());
  }
}

// By signal only a number of cores can be said, not which.
void SendSignals(const ControlArguments& arguments) {
  const std::string& target = arguments.target;
  const auto process = ReadNumber<pid_t>(target, 1, std::numeric_limits<pid_t>::max());
  if (!process) RefuseTarget(target, "no process number", "--signal needs one");
  std::vector<std::pair<ResizeSignal, int>> signals;
  for (const std::string& setting : arguments.settings) {
    const size_t equals = setting.find('=');
    const std::string name = setting.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : setting.substr(equals + 1);
    if (name != "cores" && name != "inter" && name != "intra") {
      RefuseOption(setting, "no setting", "cores=COUNT, intra=N or inter=N (with --signal)");
    }
    const ResizeSignal signal = name == "cores"   ? ResizeSignal::kCores
                                : name == "inter" ? ResizeSignal::kInter
                                                  : ResizeSignal::kIntra;
    signals.emplace_back(signal, Threads(name, value));
  }
  RefuseStopped(target, *process);
  if (!TakesResizeSignals(*process))
    RefuseTarget(target, "the signals would end it: it does not wait for them",
                 "a tenant's process number");
  for (const auto& [signal, value] : signals) SendResizeSignal(*process, signal, value);
  fmt::print("sent {} signal{}\n", signals.size(), signals.size() == 1 ? "" : "s");
}

}  // namespace

void AddCtlCommand(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("ctl", "Steer a running tenant");
  const auto arguments = std::make_shared<ControlArguments>();
  command
      ->add_option("target", arguments->target,
                   "A tenant: its process number, the path of its socket, or run:job")
      ->required();
  command->require_subcommand(1);
  command->fallthrough();
  command->add_flag("--json", arguments->json, "Print the tenant's answer as JSON");
  const auto add = [&](const char* name, const char* help, ControlRequest::Verb verb) {
    CLI::App* sub = command->add_subcommand(name, help);
    sub->callback([arguments, exit_code, verb] {
      ControlRequest request;
      request.verb = verb;
      PrintAnswer(*arguments, request);
      *exit_code = 0;
    });
  };
  add("status", "Where it is, how fast, and how quickly it was resized",
      ControlRequest::Verb::kStatus);
  add("pause", "Let it compute nothing, and keep its memory", ControlRequest::Verb::kPause);
  add("resume", "Let it compute again", ControlRequest::Verb::kResume);
  add("stop", "End it", ControlRequest::Verb::kStop);
  CLI::App* set = command->add_subcommand(
      "set", "Resize it: cores=0-3 intra=4 inter=1, any of them; waits until it took effect");
  set->add_option("settings", arguments->settings, "cores=SET, intra=N, inter=N")->required();
  set->add_flag("--signal", arguments->by_signal,
                "By real-time signals, without waiting; cores is a number then");
  set->callback([arguments, exit_code] {
    if (arguments->by_signal) {
      SendSignals(*arguments);
    } else {
      PrintAnswer(*arguments, SetRequest(arguments->settings));
    }
    *exit_code = 0;
  });
}

}  // namespace cosched
