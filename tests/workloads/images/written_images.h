#pragma once
// Image files of kinds that workloads/images reads but does not write.

#include <cstddef>
#include <cstdio>
#include <cstdlib>
// libjpeg's header needs these before it.
#include <jpeglib.h>
#include <png.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cosched {

struct PngKind {
  int colours = PNG_COLOR_TYPE_RGB;
  int depth = 8;
  bool interlaced = false;
};

// `rows`: the samples as they are in the file, of 16 bits with the higher byte first. None: it ends
// where they would begin.
inline std::string WritePng(uint32_t width, uint32_t height, const PngKind& kind,
                            const std::vector<std::string>& rows) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  std::string bytes;
  png_set_write_fn(
      png, &bytes,
      [](png_structp to, png_bytep data, size_t size) {
        static_cast<std::string*>(png_get_io_ptr(to))
            ->append(reinterpret_cast<const char*>(data), size);
      },
      nullptr);
  png_set_IHDR(png, info, width, height, kind.depth, kind.colours,
               kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  const png_color palette[] = {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {10, 20, 30}};
  const png_byte transparent[] = {255, 0};
  if (kind.colours == PNG_COLOR_TYPE_PALETTE) {
    png_set_PLTE(png, info, palette, 4);
    png_set_tRNS(png, info, transparent, 2, nullptr);
  }
  png_write_info(png, info);
  if (rows.empty()) {
    bytes += std::string("\0\0\0\4IDAT", 8);
  } else {
    std::vector<png_bytep> pointers;
    for (const std::string& row : rows)
      pointers.push_back(reinterpret_cast<png_bytep>(const_cast<char*>(row.data())));
    png_write_image(png, pointers.data());
    png_write_end(png, nullptr);
  }
  png_destroy_write_struct(&png, &info);
  return bytes;
}

struct JpegKind {
  int components = 3;
  J_COLOR_SPACE colours = JCS_RGB;
  J_COLOR_SPACE stored = JCS_YCbCr;
  bool progressive = false;
  bool arithmetic = false;
  bool apart = false;  // Each component in a scan of its own.
};

// All pixels alike.
inline std::string WriteJpeg(uint32_t width, uint32_t height, const JpegKind& kind,
                             const std::vector<uint8_t>& pixel) {
  jpeg_error_mgr errors;
  jpeg_compress_struct info = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = width;
  info.image_height = height;
  info.input_components = kind.components;
  info.in_color_space = kind.colours;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, kind.stored);
  jpeg_set_quality(&info, 95, TRUE);
  if (kind.progressive) jpeg_simple_progression(&info);
  if (kind.arithmetic) info.arith_code = TRUE;
  std::vector<jpeg_scan_info> scans;
  for (int i = 0; kind.apart && i < kind.components; ++i)
    scans.push_back(
        {.comps_in_scan = 1, .component_index = {i}, .Ss = 0, .Se = 63, .Ah = 0, .Al = 0});
  if (kind.apart) {
    info.scan_info = scans.data();
    info.num_scans = kind.components;
  }
  jpeg_start_compress(&info, TRUE);
  std::vector<uint8_t> row;
  for (uint32_t x = 0; x < width; ++x) row.insert(row.end(), pixel.begin(), pixel.end());
  JSAMPROW pointer = row.data();
  while (info.next_scanline < height) jpeg_write_scanlines(&info, &pointer, 1);
  jpeg_finish_compress(&info);
  std::string result(reinterpret_cast<const char*>(bytes), size);
  jpeg_destroy_compress(&info);
  std::free(bytes);
  return result;
}

}  // namespace cosched
