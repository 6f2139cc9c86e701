#include "experiments/tenant/command_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <string_view>

#include "experiments/os/find_program.h"
#include "experiments/os/thread_runtime.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;

// Between looks at its progress, and at what its client says of a grant that it is to follow.
constexpr milliseconds kLookAtProgress{50}, kLookAtGrant{1};
constexpr std::chrono::seconds kReap{1};  // … and at what it has left to itself.
constexpr size_t kRead = 1 << 16;
constexpr int kReadsALook = 16;

using Kind = ProgressSource::Kind;

bool ReadsOutput(const CommandSettings& settings) {
  return settings.command.progress.kind == Kind::kOutput;
}

// "NAME=value" by its name, which is told once: the last counts.
void Set(const std::string& variable, std::map<std::string, std::string>* environment) {
  (*environment)[variable.substr(0, variable.find('='))] = variable;
}

ProgramStart StartOf(const CommandSettings& settings, ClientPage* page) {
  ProgramStart start;
  start.environment = EnvironmentOf(settings, page);
  start.folder = settings.command.folder;
  start.reads_output = ReadsOutput(settings);
  start.has_input = settings.has_input;
  for (const std::string& argument : settings.command.arguments)
    start.arguments.push_back(Expanded(argument, settings.place));
  std::string& program = start.arguments.front();
  if (program.find('/') == std::string::npos) {
    if (std::string found = FindProgram(program); !found.empty()) program = std::move(found);
  }
  if (page != nullptr) {
    page->Grant(settings.place.threads, settings.place.cores);
    start.inherited.push_back(page->fd());
  }
  return start;
}

// Null: nobody would read or write it.
std::unique_ptr<ClientPage> MakePage(const CommandChoice& command) {
  const Kind progress = command.progress.kind;
  if (command.client == CommandClient::kNone && progress != Kind::kClient) return nullptr;
  return std::make_unique<ClientPage>();
}

void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // Nobody wants to read it.
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

std::vector<std::string> EnvironmentOf(const CommandSettings& settings, const ClientPage* page) {
  std::map<std::string, std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) Set(*variable, &environment);
  const std::string threads = std::to_string(settings.place.threads);
  for (const std::string_view name : ThreadVariables())
    Set(std::string(name) + "=" + threads, &environment);
  // What it prints of its progress would stay in its buffer.
  if (ReadsOutput(settings)) Set("PYTHONUNBUFFERED=1", &environment);
  for (const std::string& variable : settings.command.environment)
    Set(Expanded(variable, settings.place), &environment);
  if (page != nullptr) Set(page->Variable(), &environment);
  if (!settings.command.preload.empty()) {
    const auto others = environment.find("LD_PRELOAD");
    const std::string more =
        others == environment.end() ? "" : ":" + others->second.substr(std::strlen("LD_PRELOAD="));
    Set("LD_PRELOAD=" + settings.command.preload + more, &environment);
  }
  std::vector<std::string> variables;
  for (const auto& [name, variable] : environment) variables.push_back(variable);
  return variables;
}

CommandRun::CommandRun(const CommandSettings& settings, const Topology& topology)
    : settings_(settings),
      page_(MakePage(settings.command)),
      program_(StartOf(settings, page_.get())),
      threads_(&program_, Steers() ? page_.get() : nullptr, &topology, settings.place.threads,
               settings.mover) {
  if (!ReadsOutput(settings)) return;
  for (int stream = 0; stream < 2; ++stream) readers_.emplace_back(settings.command.progress.text);
}

bool CommandRun::Steers() const {
  return settings_.follows && settings_.command.client != CommandClient::kNone;
}

std::string CommandRun::Remark() const {
  if (said_.rigid)
    return fmt::format("is rigid: it kept its {} threads, whatever was granted", said_.threads);
  if (said_.follows || page_ == nullptr) return "";
  if (settings_.command.client == CommandClient::kOpenMp)
    return "entered no parallel region of an OpenMP that its client knows: it kept its threads";
  return "never connected to its client (cosched.connect()): it kept its threads";
}

// Until something is printed, it has ended or a look is due.
void CommandRun::Wait() {
  std::vector<pollfd> descriptors{{program_.pidfd(), POLLIN, 0}};
  for (size_t stream = 0; stream < 2; ++stream)
    if (program_.Output(stream) >= 0) descriptors.push_back({program_.Output(stream), POLLIN, 0});
  const milliseconds timeout = threads_.Settled() ? kLookAtProgress : kLookAtGrant;
  poll(descriptors.data(), descriptors.size(), static_cast<int>(timeout.count()));
}

void CommandRun::CopyOutput(size_t stream) {
  char buffer[kRead];
  // One that prints all the while must not keep this from looking at anything else.
  for (int i = 0; i < kReadsALook && program_.Output(stream) >= 0; ++i) {
    const ssize_t length = read(program_.Output(stream), buffer, sizeof buffer);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return;
    if (length == 0) return program_.CloseOutput(stream);
    const std::string_view text(buffer, static_cast<size_t>(length));
    readers_[stream].Take(text);
    WriteAll(static_cast<int>(stream) + STDOUT_FILENO, text);
  }
}

void CommandRun::CopyOutput() {
  for (size_t stream = 0; stream < readers_.size(); ++stream) CopyOutput(stream);
}

int64_t CommandRun::StepsDone(const ClientPage::Said& said) const {
  switch (settings_.command.progress.kind) {
    case Kind::kNone: return 0;
    case Kind::kOutput: return readers_[0].Steps() + readers_[1].Steps();
    case Kind::kFile:
      return StepsInFile(std::filesystem::path(settings_.command.folder) /
                         Expanded(settings_.command.progress.text, settings_.place))
          .value_or(0);
    case Kind::kRegions: return said.regions;
    case Kind::kClient: return said.steps;
  }
  return 0;
}

void CommandRun::Look(const std::function<void(const Step&)>& told) {
  CopyOutput();
  const ClientPage::Said said = Steers() ? threads_.Look()
                                : page_  ? page_->Read()
                                         : ClientPage::Said();
  said_ = said;
  const Clock::time_point now = Clock::now();
  const int64_t more = StepsDone(said) - steps_;
  if (more <= 0) return;
  const bool counted = settings_.command.progress.kind == Kind::kClient;
  // As the program says it, where that can be: since the last one, and not later than now.
  const Clock::time_point said_at(std::chrono::duration_cast<Clock::duration>(said.stepped_at));
  const Clock::time_point end = counted && said_at > last_ && said_at < now ? said_at : now;
  const int64_t images = counted ? said.images - images_ : more * settings_.batch;
  for (int64_t i = 0; i < more; ++i) {
    told({.index = steps_ + i,
          .begin = last_ + (end - last_) * i / more,
          .end = last_ + (end - last_) * (i + 1) / more,
          .images = static_cast<int>(images * (i + 1) / more - images * i / more)});
  }
  steps_ += more;
  images_ += images;
  last_ = end;
}

SteeredProgram::End CommandRun::Run(const std::function<void(const Step&)>& told) {
  std::optional<SteeredProgram::End> end;
  Clock::time_point reap = Clock::now() + kReap;
  while (!(end = program_.Ended())) {
    Wait();
    Look(told);
    if (Clock::now() < reap) continue;
    program_.ReapOrphans();
    reap = Clock::now() + kReap;
  }
  program_.KillRest();
  CopyOutput();
  for (OutputProgress& reader : readers_) reader.End();
  Look(told);
  return *end;
}

}  // namespace cosched
