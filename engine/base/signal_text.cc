#include "engine/base/signal_text.h"

#include <string.h>

namespace cosched {

std::string SignalText(int signal) {
  const char* const name = sigdescr_np(signal);
  return "signal " + std::to_string(signal) + (name ? " (" + std::string(name) + ")" : "");
}

}  // namespace cosched
