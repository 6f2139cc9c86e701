#include <cstddef>
#include <cstdio>
// libjpeg's header needs these two before it, …
#include <jpeglib.h>
// … and that of its messages needs what it defines.
#include <jerror.h>

#include <bit>
#include <vector>

#include "workloads/images/image_formats.h"

namespace cosched {
namespace {

// A progressive file may have any number of passes over its pixels; none that is of use has more.
constexpr int kMostScans = 500;
constexpr int64_t kRowsOfInput = 16;  // Of pixels at a time, where a file has several scans.
// Each block of 8 x 8 has a code of a bit at least, but where codes are arithmetic.
constexpr int64_t kMostPixelsOfAByte = 8 * 8 * 8;

class JpegReader : public ImageReader {
 public:
  JpegReader(std::string_view bytes, const std::string& name) : ImageReader(name), bytes_(bytes) {
    info_.err = jpeg_std_error(&manager_);
    manager_.error_exit = &OnError;
    manager_.emit_message = &OnMessage;
    info_.client_data = this;
    if (!ReachesEnd(&error_, [this] { jpeg_create_decompress(&info_); })) Fail(error_.text);
  }
  ~JpegReader() override { jpeg_destroy_decompress(&info_); }

  bool Continue(int64_t pixels) override {
    bool more = true;
    if (!ReachesEnd(&error_, [&] { more = Decode(pixels); }))
      Fail(std::string("is a broken JPEG: ") + error_.text);
    return more;
  }

 private:
  enum class Phase { kHeader, kInput, kOutput };

  [[noreturn]] static void OnError(j_common_ptr info) {
    auto* const self = static_cast<JpegReader*>(info->client_data);
    static_assert(LibraryError::kMostText >= JMSG_LENGTH_MAX);
    info->err->format_message(info, self->error_.text);
    std::longjmp(self->error_.target, 1);  // NOLINT(cert-err52-cpp): see LibraryError.
  }

  // Negative levels are warnings. Of those that tell of pixels that are not in the file, libjpeg
  // goes on with grey; others are harmless, and met in files of cameras.
  static void OnMessage(j_common_ptr info, int level) {
    if (level >= 0) return;
    switch (info->err->msg_code) {
      case JWRN_JPEG_EOF:
      case JWRN_HIT_MARKER:
      case JWRN_HUFF_BAD_CODE:
      case JWRN_ARITH_BAD_CODE:
      case JWRN_BOGUS_PROGRESSION:
      case JWRN_MUST_RESYNC: OnError(info);
      default: return;
    }
  }

  bool Decode(int64_t pixels) {
    switch (phase_) {
      case Phase::kHeader: ReadHeader(); return true;
      case Phase::kInput: ReadScans(pixels); return true;
      case Phase::kOutput: return ReadRows(pixels);
    }
    return false;
  }

  void ReadHeader() {
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    jpeg_read_header(&info_, TRUE);
    SetSize(info_.image_width, info_.image_height);
    if (info_.arith_code == FALSE) {
      RequireBytes(bytes_.size(), int64_t{pixels_.width} * pixels_.height / kMostPixelsOfAByte);
    }
    const bool cmyk = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    pixels_.rgb.resize(size_t{3} * info_.image_width * info_.image_height);
    if (cmyk) inks_.resize(size_t{4} * info_.image_width);
    // Of several scans the last one ends what the first begins: without buffers of its own the
    // library would read them all in its first call.
    info_.buffered_image = jpeg_has_multiple_scans(&info_);
    NoteComponents();
    jpeg_start_decompress(&info_);
    phase_ = info_.buffered_image != FALSE ? Phase::kInput : Phase::kOutput;
  }

  void ReadScans(int64_t pixels) {
    for (; pixels > 0; pixels -= kRowsOfInput * pixels_.width) {
      const int reached = jpeg_consume_input(&info_);
      if (reached == JPEG_REACHED_SOS) NoteComponents();
      if (reached == JPEG_REACHED_EOI) {
        // The library would show what none of the scans has as grey.
        if (std::popcount(components_) < info_.num_components)
          Fail("is a broken JPEG: it ends before all of its colours");
        jpeg_start_output(&info_, info_.input_scan_number);
        phase_ = Phase::kOutput;
        return;
      }
      if (info_.input_scan_number > kMostScans) Fail("has more than 500 scans");
    }
  }

  // Those of the scan that begins, if it has their blocks' means.
  void NoteComponents() {
    if (info_.progressive_mode != FALSE && info_.Ss != 0) return;
    for (int i = 0; i < info_.comps_in_scan; ++i)
      components_ |= 1u << info_.cur_comp_info[i]->component_index;
  }

  bool ReadRows(int64_t pixels) {
    for (; info_.output_scanline < info_.output_height; pixels -= pixels_.width) {
      if (pixels <= 0) return true;
      uint8_t* const row =
          pixels_.rgb.data() + size_t{3} * info_.output_scanline * info_.output_width;
      JSAMPROW into = inks_.empty() ? row : inks_.data();
      jpeg_read_scanlines(&info_, &into, 1);
      if (!inks_.empty()) ToColours(row);
    }
    if (info_.buffered_image != FALSE) jpeg_finish_output(&info_);
    jpeg_finish_decompress(&info_);
    return false;
  }

  // Adobe's programs store how much of an ink is missing.
  void ToColours(uint8_t* row) const {
    const int flip = info_.saw_Adobe_marker != FALSE ? 0 : 255;
    for (size_t x = 0; x < info_.output_width; ++x) {
      const int black = inks_[4 * x + 3] ^ flip;
      for (size_t c = 0; c < 3; ++c)
        row[3 * x + c] = static_cast<uint8_t>(((inks_[4 * x + c] ^ flip) * black + 127) / 255);
    }
  }

  const std::string_view bytes_;
  Phase phase_ = Phase::kHeader;
  LibraryError error_;
  jpeg_error_mgr manager_ = {};
  jpeg_decompress_struct info_ = {};
  uint32_t components_ = 0;    // Met so far, a bit each.
  std::vector<uint8_t> inks_;  // Of a row with four of them.
};

}  // namespace

std::unique_ptr<ImageReader> OpenJpeg(std::string_view bytes, const std::string& name) {
  return std::make_unique<JpegReader>(bytes, name);
}

}  // namespace cosched
