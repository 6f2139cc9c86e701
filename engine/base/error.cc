#include "engine/base/error.h"

#include <utility>

namespace cosched {
namespace {

std::string Message(const InputErrorDetails& details) {
  std::string text = details.file;
  if (details.line > 0) text += ":" + std::to_string(details.line);
  if (!details.key.empty()) text += (text.empty() ? "" : ": ") + details.key;
  text += (text.empty() ? "" : ": ") + details.problem;
  if (!details.allowed.empty()) text += "; allowed: " + details.allowed;
  return text;
}

}  // namespace

InputError::InputError(InputErrorDetails details)
    : std::runtime_error(Message(details)), details_(std::move(details)) {}

}  // namespace cosched
