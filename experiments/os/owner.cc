#include "experiments/os/owner.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "engine/base/check.h"
#include "experiments/os/process_stat.h"

namespace cosched {
namespace {

constexpr size_t kBootDigits = 8;

// "" if there is no such process, or it has ended and only waits to be reaped.
// `process`: its number, or "self".
std::string StartTime(const std::string& process) {
  const std::optional<ProcessStat> stat = ProcessStat::Of(process);
  return stat && !stat->HasEnded() ? stat->Text(ProcessStat::kStartTime) : std::string();
}

// Target of /proc/self/…, which may not be there.
std::string LinkOf(const char* name) {
  std::error_code ignored;
  return std::filesystem::read_symlink(std::filesystem::path("/proc") / name, ignored).string();
}

std::string BootHere() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text, digits;
  std::getline(file, text);
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
               [](unsigned char c) { return std::isxdigit(c); });
  digits.resize(kBootDigits, '0');
  return digits;
}

// A container may have been given the /proc of another namespace: its numbers are no use here.
bool ProcIsOurs() { return LinkOf("self") == std::to_string(getpid()); }

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

struct OwnerParts {
  std::string_view pid, start, boot, pid_namespace, user;  // The last three "" in older names.
};

std::optional<OwnerParts> ParseOwner(std::string_view name) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  if ((parts.size() != 2 && parts.size() != 5) || !IsNumber(parts[0]) || !IsNumber(parts[1])) {
    return std::nullopt;
  }
  if (parts.size() == 2) return OwnerParts{parts[0], parts[1], "", "", ""};
  const bool boot = parts[2].size() == kBootDigits &&
                    std::all_of(parts[2].begin(), parts[2].end(),
                                [](unsigned char c) { return std::isxdigit(c); });
  if (!boot || !IsNumber(parts[3]) || !IsNumber(parts[4])) return std::nullopt;
  return OwnerParts{parts[0], parts[1], parts[2], parts[3], parts[4]};
}

}  // namespace

std::string OwnerName() {
  return std::to_string(getpid()) + "." + StartTime("self") + "." + BootHere() + "." +
         PidNamespaceHere() + "." + std::to_string(geteuid());
}

// The link's target is "pid:[<number>]".
std::string PidNamespaceHere() {
  std::string number;
  for (const char c : LinkOf("self/ns/pid"))
    if (std::isdigit(static_cast<unsigned char>(c))) number += c;
  return number.empty() ? "0" : number;
}

bool IsOwnerName(std::string_view name) { return ParseOwner(name).has_value(); }

OwnerState StateOfOwner(std::string_view name) {
  const std::optional<OwnerParts> parts = ParseOwner(name);
  CHECK(parts) << name;
  const bool old = parts->boot.empty();
  if (!old && parts->boot != BootHere()) return OwnerState::kGone;
  if (!old && (parts->pid_namespace != PidNamespaceHere() || !ProcIsOurs())) {
    return OwnerState::kElsewhere;
  }
  if (StartTime(std::string(parts->pid)) == parts->start) return OwnerState::kLives;
  return old ? OwnerState::kUnknown : OwnerState::kGone;
}

std::string WhyLeft(OwnerState state) {
  switch (state) {
    case OwnerState::kLives: return "its run goes on";
    case OwnerState::kGone: return "";
    case OwnerState::kElsewhere:
      return "belongs to another PID namespace; clean up there, or remove it by hand";
    case OwnerState::kUnknown:
      return "made by an older cosched, whose PID namespace is not known; remove it by hand";
  }
  CHECK(false) << static_cast<int>(state);
  return "";
}

std::optional<uid_t> UserOfOwner(std::string_view name) {
  const std::optional<OwnerParts> parts = ParseOwner(name);
  if (!parts || parts->user.empty()) return std::nullopt;
  uid_t user = 0;
  const char* const end = parts->user.data() + parts->user.size();
  const auto [rest, error] = std::from_chars(parts->user.data(), end, user);
  return error == std::errc() ? std::optional<uid_t>(user) : std::nullopt;
}

void Cleaned::Add(Cleaned other) {
  std::move(other.removed.begin(), other.removed.end(), std::back_inserter(removed));
  std::move(other.left.begin(), other.left.end(), std::back_inserter(left));
}

}  // namespace cosched
