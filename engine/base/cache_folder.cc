#include "engine/base/cache_folder.h"

#include <cstdlib>

namespace cosched {
namespace {

std::filesystem::path FromEnvironment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it.
  return value == nullptr ? "" : value;
}

}  // namespace

std::filesystem::path CacheFolder() {
  if (const auto own = FromEnvironment("COSCHED_CACHE"); !own.empty()) return own;
  if (const auto caches = FromEnvironment("XDG_CACHE_HOME"); !caches.empty())
    return caches / "cosched";
  if (const auto home = FromEnvironment("HOME"); !home.empty()) return home / ".cache/cosched";
  return {};
}

}  // namespace cosched
