#include "workloads/images/image_writer.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
// libjpeg's header needs these before it.
#include <jpeglib.h>
#include <png.h>

#include <cstring>
#include <stdexcept>

#include "workloads/images/image_formats.h"

namespace cosched {
namespace {

class JpegWriter {
 public:
  JpegWriter() {
    info_.err = jpeg_std_error(&manager_);
    manager_.error_exit = &OnError;
    info_.client_data = this;
    Try([this] { jpeg_create_compress(&info_); });
  }
  ~JpegWriter() {
    jpeg_destroy_compress(&info_);
    std::free(bytes_);
  }
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;

  std::string Encode(const Pixels& pixels, int quality) {
    Try([&] {
      jpeg_mem_dest(&info_, &bytes_, &size_);
      info_.image_width = static_cast<JDIMENSION>(pixels.width);
      info_.image_height = static_cast<JDIMENSION>(pixels.height);
      info_.input_components = 3;
      info_.in_color_space = JCS_RGB;
      jpeg_set_defaults(&info_);
      jpeg_set_quality(&info_, quality, TRUE);
      jpeg_start_compress(&info_, TRUE);
      while (info_.next_scanline < info_.image_height) {
        // It is not written to.
        JSAMPROW row = const_cast<uint8_t*>(pixels.rgb.data()) +
                       size_t{3} * info_.next_scanline * info_.image_width;
        jpeg_write_scanlines(&info_, &row, 1);
      }
      jpeg_finish_compress(&info_);
    });
    return {reinterpret_cast<const char*>(bytes_), size_};
  }

 private:
  [[noreturn]] static void OnError(j_common_ptr info) {
    auto* const self = static_cast<JpegWriter*>(info->client_data);
    info->err->format_message(info, self->error_.text);
    std::longjmp(self->error_.target, 1);  // NOLINT(cert-err52-cpp): see LibraryError.
  }
  template <typename Body>
  void Try(const Body& body) {
    if (!ReachesEnd(&error_, body)) throw std::runtime_error(error_.text);
  }

  LibraryError error_;
  jpeg_error_mgr manager_ = {};
  jpeg_compress_struct info_ = {};
  unsigned char* bytes_ = nullptr;
  unsigned long size_ = 0;  // libjpeg's type.
};

}  // namespace

std::string EncodeJpeg(const Pixels& pixels, int quality) {
  return JpegWriter().Encode(pixels, quality);
}

std::string EncodePng(const Pixels& pixels) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(pixels.width);
  image.height = static_cast<png_uint_32>(pixels.height);
  image.format = PNG_FORMAT_RGB;
  image.flags = PNG_IMAGE_FLAG_FAST;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.rgb.data(), 0, nullptr) == 0)
    throw std::runtime_error(image.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace cosched
