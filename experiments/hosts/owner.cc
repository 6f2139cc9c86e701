#include "experiments/hosts/owner.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

#include "engine/base/check.h"

namespace cosched {
namespace {

// "" if there is no such process, or it has ended and only waits to be reaped.
std::string StartTime(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');  // The command's name may hold anything.
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string state, field;
  fields >> state;
  if (state == "Z" || state == "X") return {};
  constexpr int kStartTime = 22;  // proc(5); the state is field 3.
  for (int number = 4; number <= kStartTime; ++number) fields >> field;
  return fields ? field : std::string();
}

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

}  // namespace

std::string OwnerName() {
  const std::string pid = std::to_string(getpid());
  return pid + "." + StartTime(pid);
}

bool IsOwnerName(std::string_view name) {
  const size_t dot = name.find('.');
  return dot != std::string_view::npos && IsNumber(name.substr(0, dot)) &&
         IsNumber(name.substr(dot + 1));
}

bool OwnerLives(std::string_view name) {
  CHECK(IsOwnerName(name)) << name;
  const size_t dot = name.find('.');
  return StartTime(std::string(name.substr(0, dot))) == name.substr(dot + 1);
}

}  // namespace cosched
