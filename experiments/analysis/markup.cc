#include "experiments/analysis/markup.h"

namespace cosched {

std::string EscapedMarkup(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t') escaped += c;
    }
  }
  return escaped;
}

}  // namespace cosched
