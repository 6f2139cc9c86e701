#include "experiments/config/backend.h"

namespace cosched {

std::string_view ToString(Backend backend) {
  switch (backend) {
    case Backend::kHardware: return "hardware";
    case Backend::kContainer: return "container";
    case Backend::kSlurm: return "slurm";
    case Backend::kSimulated: return "simulated";
  }
  return "";
}

std::optional<Backend> ParseBackend(std::string_view text) {
  for (const Backend backend :
       {Backend::kHardware, Backend::kContainer, Backend::kSlurm, Backend::kSimulated}) {
    if (text == ToString(backend)) return backend;
  }
  return std::nullopt;
}

}  // namespace cosched
