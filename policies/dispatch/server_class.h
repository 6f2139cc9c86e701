#pragma once
// The two kinds of servers: each has a Dispatch of its own.

#include <cstddef>
#include <string_view>

namespace cosched {

enum class ServerClass {
  kCpu,     // An instance of one service, on cores.
  kDevice,  // A device beside the cores, which serves several services.
};
inline constexpr size_t kServerClasses = 2;

constexpr std::string_view ToString(ServerClass kind) {
  return kind == ServerClass::kCpu ? "cpu" : "device";
}

}  // namespace cosched
