#include "engine/base/error.h"

#include <string_view>
#include <utility>

namespace cosched {
namespace {

// One line of bounded length, whatever the part quotes: a hostile file's names may be megabytes
// long, or move a terminal's cursor.
std::string Printable(std::string_view part) {
  constexpr size_t kMost = 2000;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : part.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      text += c;
    } else {
      text += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return part.size() > kMost ? text + "…" : text;
}

std::string Message(const InputErrorDetails& details) {
  std::string text = Printable(details.file);
  if (details.line > 0) text += ":" + std::to_string(details.line);
  if (!details.key.empty()) text += (text.empty() ? "" : ": ") + Printable(details.key);
  text += (text.empty() ? "" : ": ") + Printable(details.problem);
  if (!details.allowed.empty()) text += "; allowed: " + Printable(details.allowed);
  return text;
}

}  // namespace

InputError::InputError(InputErrorDetails details)
    : std::runtime_error(Message(details)), details_(std::move(details)) {}

}  // namespace cosched
