#pragma once
// The readers of the two formats, for image_reader.cc, and how the libraries' errors get out of
// them: libjpeg and libpng call back where they can't go on, and expect not to be returned to.

#include <csetjmp>
#include <memory>
#include <string>
#include <string_view>

#include "workloads/images/image_reader.h"

namespace cosched {

std::unique_ptr<ImageReader> OpenJpeg(std::string_view bytes, const std::string& name);
std::unique_ptr<ImageReader> OpenPng(std::string_view bytes, const std::string& name);

// Where a library's error handler jumps to, with what it says. An exception could not be thrown
// through the frames of C.
struct LibraryError {
  static constexpr int kMostText = 256;
  std::jmp_buf target;
  char text[kMostText] = {};
};

// Whether body() came to its end; else the error has its text. REQUIRES: nothing that the body has
// in scope while it calls the library needs a destructor.
template <typename Body>
bool ReachesEnd(LibraryError* error, const Body& body) {
  if (setjmp(error->target) != 0) return false;  // NOLINT(cert-err52-cpp): see LibraryError.
  body();
  return true;
}

}  // namespace cosched
