#include "workloads/images/image_reader.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "workloads/images/image_formats.h"

namespace cosched {
namespace {

constexpr std::string_view kJpegBegins = "\xff\xd8\xff";
constexpr std::string_view kPngBegins = "\x89PNG\r\n\x1a\n";

}  // namespace

void ImageReader::Fail(const std::string& problem, const std::string& allowed) const {
  throw InputError({.file = name_, .problem = problem, .allowed = allowed});
}

void ImageReader::SetSize(int64_t width, int64_t height) {
  if (width < 1 || height < 1 || width > kMostImagePixels / height) {
    Fail(fmt::format("is {} x {} pixels", width, height),
         fmt::format("1 to {} in all", kMostImagePixels));
  }
  pixels_.width = static_cast<int>(width);
  pixels_.height = static_cast<int>(height);
}

void ImageReader::RequireBytes(size_t bytes, int64_t least) const {
  if (static_cast<int64_t>(bytes) >= least) return;
  Fail(fmt::format("has {} bytes, too few for {} x {} pixels", bytes, pixels_.width,
                   pixels_.height));
}

std::unique_ptr<ImageReader> OpenImage(std::string_view bytes, const std::string& name) {
  if (bytes.starts_with(kJpegBegins)) return OpenJpeg(bytes, name);
  if (bytes.starts_with(kPngBegins)) return OpenPng(bytes, name);
  throw InputError({.file = name,
                    .problem = bytes.empty() ? "is empty" : "is neither JPEG nor PNG",
                    .allowed = "an image of these formats"});
}

Pixels DecodeImage(std::string_view bytes, const std::string& name) {
  const std::unique_ptr<ImageReader> reader = OpenImage(bytes, name);
  while (reader->Continue(kMostImagePixels)) {
  }
  return reader->Take();
}

}  // namespace cosched
