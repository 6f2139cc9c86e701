#include <png.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "workloads/images/image_formats.h"

namespace cosched {
namespace {

constexpr size_t kColours = 3, kWithAlpha = 4;
// Deflate's two shortest codes, a bit each, stand for 258 bytes.
constexpr int64_t kMostExpansion = 258 * 8 / 2;

class PngReader : public ImageReader {
 public:
  PngReader(std::string_view bytes, const std::string& name)
      : ImageReader(name), bytes_(bytes.size()), left_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &OnError, &OnWarning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(png_, this, &OnRead);
  }
  ~PngReader() override { png_destroy_read_struct(&png_, &info_, nullptr); }

  bool Continue(int64_t pixels) override {
    bool more = true;
    if (!ReachesEnd(&error_, [&] { more = Decode(pixels); }))
      Fail(std::string("is a broken PNG: ") + error_.text);
    return more;
  }

 private:
  enum class Phase { kHeader, kRows, kCompose };

  [[noreturn]] static void OnError(png_structp png, png_const_charp text) {
    LibraryError& error = static_cast<PngReader*>(png_get_error_ptr(png))->error_;
    std::strncpy(error.text, text, sizeof error.text - 1);
    std::longjmp(error.target, 1);  // NOLINT(cert-err52-cpp): see LibraryError.
  }
  static void OnWarning(png_structp /*png*/, png_const_charp /*text*/) {}
  static void OnRead(png_structp png, png_bytep to, size_t count) {
    std::string_view& left = static_cast<PngReader*>(png_get_io_ptr(png))->left_;
    if (count > left.size()) png_error(png, "it ends too early");
    std::memcpy(to, left.data(), count);
    left.remove_prefix(count);
  }

  bool Decode(int64_t pixels) {
    switch (phase_) {
      case Phase::kHeader: ReadHeader(); return true;
      case Phase::kRows: return ReadRows(pixels);
      case Phase::kCompose: return Compose(pixels);
    }
    return false;
  }

  void ReadHeader() {
    png_read_info(png_, info_);
    SetSize(png_get_image_width(png_, info_), png_get_image_height(png_, info_));
    RequireBytes(bytes_, static_cast<int64_t>(png_get_rowbytes(png_, info_)) * pixels_.height /
                             kMostExpansion);
    png_set_expand(png_);
    png_set_scale_16(png_);
    png_set_gray_to_rgb(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    channels_ = png_get_channels(png_, info_);
    if (png_get_rowbytes(png_, info_) != RowBytes())
      png_error(png_, "of a kind that libpng did not expand");
    pixels_.rgb.resize(RowBytes() * static_cast<size_t>(pixels_.height));
    phase_ = Phase::kRows;
  }

  bool ReadRows(int64_t pixels) {
    for (; pass_ < passes_; ++pass_, row_ = 0) {
      for (; row_ < pixels_.height; ++row_, pixels -= pixels_.width) {
        if (pixels <= 0) return true;
        png_read_row(png_, pixels_.rgb.data() + RowBytes() * static_cast<size_t>(row_), nullptr);
      }
    }
    png_read_end(png_, nullptr);
    phase_ = Phase::kCompose;
    return channels_ == kWithAlpha;
  }

  // Onto white, in place.
  bool Compose(int64_t pixels) {
    const size_t all = static_cast<size_t>(pixels_.width) * static_cast<size_t>(pixels_.height);
    const size_t end = std::min(all, composed_ + static_cast<size_t>(pixels));
    uint8_t* const rgb = pixels_.rgb.data();
    for (; composed_ < end; ++composed_) {
      const uint8_t* const from = rgb + composed_ * kWithAlpha;
      const int alpha = from[kColours];
      for (size_t c = 0; c < kColours; ++c) {
        rgb[composed_ * kColours + c] =
            static_cast<uint8_t>((from[c] * alpha + 255 * (255 - alpha) + 127) / 255);
      }
    }
    if (end < all) return true;
    pixels_.rgb.resize(all * kColours);
    return false;
  }

  size_t RowBytes() const { return static_cast<size_t>(pixels_.width) * channels_; }

  const size_t bytes_;
  std::string_view left_;
  Phase phase_ = Phase::kHeader;
  LibraryError error_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  size_t channels_ = kColours;
  int passes_ = 1, pass_ = 0, row_ = 0;
  size_t composed_ = 0;
};

}  // namespace

std::unique_ptr<ImageReader> OpenPng(std::string_view bytes, const std::string& name) {
  return std::make_unique<PngReader>(bytes, name);
}

}  // namespace cosched
