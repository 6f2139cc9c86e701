#pragma once
// CHECK(condition) << "what was expected": for our own bugs only, always on, aborts with file, line
// and message. Bad input from a user is an InputError (engine/base/error.h), never a CHECK.

#include <sstream>

namespace cosched::internal {

class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure();  // Prints the message to stderr and aborts.
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

struct Voidify {
  void operator&(std::ostream&) const {}
};

}  // namespace cosched::internal

#define CHECK(condition)                         \
  (condition) ? static_cast<void>(0)             \
              : ::cosched::internal::Voidify() & \
                    ::cosched::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()
