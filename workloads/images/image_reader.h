#pragma once
// Decodes JPEG and PNG a piece at a time, so that whoever decodes can stop between two pieces. Of
// colours, bit depths and interlacing all come out alike: 8 bits of red, green and blue; grey is
// three times the same, and where a PNG is transparent it is on white. Colour profiles, gamma and
// orientation are not looked at. Called by classify's stage. Each object for one thread at a time.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "workloads/images/pixels.h"

namespace cosched {

// Of an image, as it would fill memory: about 8,000 x 8,000.
inline constexpr int64_t kMostImagePixels = int64_t{1} << 26;

class ImageReader {
 public:
  virtual ~ImageReader() = default;
  ImageReader(const ImageReader&) = delete;
  ImageReader& operator=(const ImageReader&) = delete;

  // Decodes about so many pixels more, each of which costs some 10 ns; whether there are more.
  // Throws InputError with the name for a file that is broken or cut off.
  virtual bool Continue(int64_t pixels) = 0;
  Pixels Take() { return std::move(pixels_); }  // REQUIRES: there are no more.

 protected:
  explicit ImageReader(std::string name) : name_(std::move(name)) {}

  [[noreturn]] void Fail(const std::string& problem, const std::string& allowed = "") const;
  void SetSize(int64_t width, int64_t height);  // Throws InputError for more pixels than may be.
  // Of a file with so many bytes, where those of that size take so many at least: whoever claims a
  // size gets no memory for it before that much of the file is there. Throws InputError.
  void RequireBytes(size_t bytes, int64_t least) const;

  Pixels pixels_;

 private:
  const std::string name_;
};

// By the first bytes; whose name says otherwise is believed less. Throws InputError with the name
// for what is neither format. REQUIRES: `bytes` outlive the reader.
std::unique_ptr<ImageReader> OpenImage(std::string_view bytes, const std::string& name);

Pixels DecodeImage(std::string_view bytes, const std::string& name);  // At once.

}  // namespace cosched
