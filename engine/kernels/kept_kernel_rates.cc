#include "engine/kernels/kept_kernel_rates.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

#include "engine/base/cache_folder.h"
#include "engine/base/cache_sizes.h"
#include "engine/base/cpu_description.h"
#include "engine/kernels/kernel.h"

namespace cosched {
namespace {

constexpr char kFolder[] = "kernel_rates";
// The version of what is measured: another one makes kept rates be measured anew.
constexpr int kVersion = 1;
constexpr char kUndisturbed[] = "no";

// What kind of CPU it is, on x86 and on Arm.
std::string DescribedByKernel() {
  constexpr const char* kKeys[] = {"vendor_id",        "cpu family",  "model",
                                   "model name",       "stepping",    "CPU implementer",
                                   "CPU architecture", "CPU variant", "CPU part"};
  const std::map<std::string, std::string> description = ThisCpuDescription();
  std::string described;
  for (const char* key : kKeys) {
    const auto found = description.find(key);
    if (found == description.end() || found->second.empty()) continue;
    described += (described.empty() ? "" : " ") + found->second;
  }
  return described;
}

std::string ThisCpu() {
  return fmt::format("{}, {} KiB, {}, measurement {}", DescribedByKernel(),
                     ThisMachinesSecondLevelCache().bytes / 1024, KernelTarget(), kVersion);
}

// Named after the CPU, so that a home which several machines share has one for each kind.
std::filesystem::path FileOf(const RatesKeeper& keeper) {
  constexpr size_t kLongest = 200;  // What any file system takes, endings included.
  std::string name = keeper.cpu.substr(0, kLongest);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '-');
  return keeper.cache / kFolder / (name + ".txt");
}

// The kernel's count of threads that run or want to (proc(5)), of which this one is one. Some may come
// and go on a machine of many cores.
bool NobodyElseComputes() {
  std::ifstream file("/proc/loadavg");
  std::string average;
  int running = 0;
  if (!(file >> average >> average >> average >> running)) return true;
  return running - 1 <= static_cast<int>(std::thread::hardware_concurrency()) / 16;
}

std::string TextOf(const RatesKeeper& keeper, const KernelRates& rates, bool disturbed) {
  return fmt::format(
      "# What one core of this kind does in a second, as cosched measured it once "
      "(engine/kernels/kernel_rates.h).\n"
      "# Kernels are chosen by it; `cosched doctor --measure` measures it anew.\n"
      "cpu: {}\ndate: {:%Y-%m-%d}\nbeside others: {}\nrates: {}\n",
      keeper.cpu, fmt::gmtime(std::time(nullptr)), disturbed ? "yes" : kUndisturbed,
      ToString(rates));
}

// Nothing if there is no such file, or if it is of another CPU or damaged.
std::optional<KeptKernelRates> ReadKept(const RatesKeeper& keeper) {
  KeptKernelRates kept;
  kept.file = FileOf(keeper);
  kept.disturbed = true;  // Unless the file says otherwise: it may be of before it did.
  std::ifstream stream(kept.file);
  std::optional<KernelRates> rates;
  for (std::string line; std::getline(stream, line);) {
    const auto value = [&](std::string_view key) { return line.substr(key.size()); };
    if (line.starts_with("cpu: ")) kept.cpu = value("cpu: ");
    if (line.starts_with("date: ")) kept.date = value("date: ");
    if (line.starts_with("beside others: "))
      kept.disturbed = value("beside others: ") != kUndisturbed;
    if (line.starts_with("rates: ")) rates = ParseKernelRates(value("rates: "));
  }
  if (!rates || kept.cpu != keeper.cpu) return std::nullopt;
  kept.rates = *rates;
  return kept;
}

KeptKernelRates NotKept(const RatesKeeper& keeper, const std::string& why) {
  KeptKernelRates kept;
  kept.cpu = keeper.cpu;
  kept.why_fixed = why;
  return kept;
}

// Whole or not at all. replace: also one that is there; else that one stays.
KeptKernelRates MeasureAndKeep(const RatesKeeper& keeper, bool replace) {
  if (keeper.cache.empty())
    return NotKept(keeper, "none of COSCHED_CACHE, XDG_CACHE_HOME and HOME is set");
  const std::filesystem::path file = FileOf(keeper);
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  std::string draft = file.string() + ".XXXXXX";
  const int descriptor = error ? -1 : mkstemp(draft.data());
  if (descriptor == -1)
    return NotKept(keeper, fmt::format("{} can't be written: {}", file.string(),
                                       error ? error.message() : std::strerror(errno)));
  const bool quiet_before = keeper.is_quiet();
  const KernelRates rates = Rounded(keeper.measure());
  const std::string text = TextOf(keeper, rates, !quiet_before || !keeper.is_quiet());
  const bool written =
      write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(descriptor);
  if (written && replace) {
    std::filesystem::rename(draft, file, error);
  } else if (written) {
    std::filesystem::create_hard_link(draft, file, error);  // Fails where there is one.
    const bool no_links = error && error != std::errc::file_exists;
    if (no_links) std::filesystem::rename(draft, file, error);
  }
  std::filesystem::remove(draft, error);
  const std::optional<KeptKernelRates> kept = ReadKept(keeper);
  return kept ? *kept : NotKept(keeper, fmt::format("{} can't be written", file.string()));
}

RatesKeeper ThisMachinesKeeper() {
  return {CacheFolder(), ThisCpu(), MeasureKernelRates, NobodyElseComputes};
}

}  // namespace

std::optional<KeptKernelRates> RatesKeeper::Kept() const { return ReadKept(*this); }

KeptKernelRates RatesKeeper::Get() const {
  if (const auto kept = ReadKept(*this)) {
    return kept->disturbed && is_quiet() ? MeasureAndKeep(*this, /*replace=*/true) : *kept;
  }
  std::error_code error;
  const bool is_there = std::filesystem::exists(FileOf(*this), error);
  // Files come whole: one that is there now was put there a moment ago, or is damaged.
  if (is_there) {
    if (const auto kept = ReadKept(*this)) return *kept;
  }
  return MeasureAndKeep(*this, /*replace=*/is_there);
}

KeptKernelRates RatesKeeper::Renew() const { return MeasureAndKeep(*this, /*replace=*/true); }

std::optional<KeptKernelRates> KernelRatesKeptHere() { return ThisMachinesKeeper().Kept(); }

KeptKernelRates ThisMachinesKernelRates() { return ThisMachinesKeeper().Get(); }

KeptKernelRates MeasureKernelRatesAnew() { return ThisMachinesKeeper().Renew(); }

}  // namespace cosched
