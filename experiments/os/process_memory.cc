#include "experiments/os/process_memory.h"

#include <linux/capability.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace cosched {
namespace {

constexpr size_t kBits = 8 * sizeof(unsigned long);
constexpr size_t kWords = (CpuSet::kMaxCpu + 1) / kBits;
constexpr unsigned long kMaskBits = kWords * kBits;
using NodeMask = std::array<unsigned long, kWords>;

// The kernel's form of a set of nodes.
NodeMask MaskOf(const NumaNodes& nodes) {
  NodeMask mask{};
  for (const int node : nodes.numbers) {
    const auto bit = static_cast<size_t>(node);
    mask[bit / kBits] |= 1UL << (bit % kBits);
  }
  return mask;
}

template <typename Number>
bool Parse(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

// One mapping: "7f5c1000 default anon=3 dirty=3 N0=1 N1=2 kernelpagesize_kB=4".
void AddMapping(const std::string& line, MemoryByNode* memory) {
  constexpr std::string_view kPageSize = "kernelpagesize_kB=", kOwn = "anon=";
  std::istringstream words(line);
  MemoryByNode pages;
  int64_t kilobytes = 0;
  bool own = false;
  for (std::string word; words >> word;) {
    const std::string_view text = word;
    const size_t equals = text.find('=');
    int node = 0;
    int64_t count = 0;
    if (text.starts_with(kOwn)) own = true;
    if (text.starts_with(kPageSize)) Parse(text.substr(kPageSize.size()), &kilobytes);
    if (text[0] == 'N' && equals != std::string_view::npos &&
        Parse(text.substr(1, equals - 1), &node) && Parse(text.substr(equals + 1), &count))
      pages[node] += count;
  }
  if (!own) return;
  for (const auto& [node, count] : pages) (*memory)[node] += count * kilobytes * 1024;
}

}  // namespace

std::optional<MemoryByNode> ReadNumaMaps(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) return std::nullopt;
  MemoryByNode memory;
  for (std::string line; std::getline(stream, line);) AddMapping(line, &memory);
  if (stream.bad() || memory.empty()) return std::nullopt;
  return memory;
}

std::optional<MemoryByNode> MemoryOf(pid_t process) {
  return ReadNumaMaps("/proc/" + std::to_string(process) + "/numa_maps");
}

int64_t BytesOn(const MemoryByNode& memory, const NumaNodes& nodes) {
  int64_t bytes = 0;
  for (const auto& [node, count] : memory)
    if (nodes.numbers.Contains(node)) bytes += count;
  return bytes;
}

int MovePages(pid_t process, const NumaNodes& from, const NumaNodes& to) {
  const NodeMask before = MaskOf(from), after = MaskOf(to);
  // Above 0: so many pages could not be moved.
  const long left = syscall(SYS_migrate_pages, process, kMaskBits, before.data(), after.data());
  return left < 0 ? errno : 0;
}

void LeaveOthersMemory() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0) return;
  sets[CAP_TO_INDEX(CAP_SYS_NICE)].effective &= ~CAP_TO_MASK(CAP_SYS_NICE);
  sets[CAP_TO_INDEX(CAP_SYS_NICE)].permitted &= ~CAP_TO_MASK(CAP_SYS_NICE);
  syscall(SYS_capset, &header, sets.data());
}

MemoryOn::MemoryOn(const NumaNodes& nodes) {
  const NodeMask mask = MaskOf(nodes);
  if (syscall(SYS_set_mempolicy, MPOL_BIND, mask.data(), kMaskBits) != 0) error_ = errno;
}

MemoryOn::~MemoryOn() {
  if (error_ == 0) syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
}

}  // namespace cosched
