#pragma once
// Small images of every kind of both formats, as the fuzzer's first inputs: whole ones, and some to
// be refused. They are made here rather than stored.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/workloads/images/written_images.h"
#include "workloads/images/image_writer.h"

namespace cosched {

inline Pixels SeedPixels() {
  Pixels pixels{.width = 21, .height = 18};
  for (int i = 0; i < 3 * 21 * 18; ++i) pixels.rgb.push_back(static_cast<uint8_t>(i * i / 7));
  return pixels;
}

inline std::vector<std::string> JpegSeeds() {
  std::vector<std::string> seeds = {EncodeJpeg(SeedPixels(), 80)};
  const std::vector<uint8_t> pixel = {200, 100, 50, 128};
  for (const bool progressive : {false, true}) {
    for (const bool arithmetic : {false, true}) {
      seeds.push_back(
          WriteJpeg(24, 20, {.progressive = progressive, .arithmetic = arithmetic}, pixel));
    }
  }
  seeds.push_back(WriteJpeg(24, 20, {.apart = true}, pixel));
  seeds.push_back(WriteJpeg(24, 20, {1, JCS_GRAYSCALE, JCS_GRAYSCALE}, pixel));
  seeds.push_back(WriteJpeg(24, 20, {4, JCS_CMYK, JCS_CMYK}, pixel));
  seeds.push_back(WriteJpeg(24, 20, {4, JCS_CMYK, JCS_YCCK}, pixel));
  return seeds;
}

inline std::vector<std::string> PngSeeds() {
  std::vector<std::string> seeds = {EncodePng(SeedPixels())};
  const auto add = [&seeds](int colours, std::initializer_list<int> depths, size_t channels,
                            char samples = 0x1b) {
    for (const int depth : depths) {
      for (const bool interlaced : {false, true}) {
        const size_t bytes = (11 * channels * static_cast<size_t>(depth) + 7) / 8;
        seeds.push_back(WritePng(11, 9, {colours, depth, interlaced},
                                 std::vector<std::string>(9, std::string(bytes, samples))));
      }
    }
  };
  add(PNG_COLOR_TYPE_GRAY, {1, 2, 4, 8, 16}, 1);
  add(PNG_COLOR_TYPE_GRAY_ALPHA, {8, 16}, 2);
  add(PNG_COLOR_TYPE_RGB, {8, 16}, 3);
  add(PNG_COLOR_TYPE_RGB_ALPHA, {8, 16}, 4);
  add(PNG_COLOR_TYPE_PALETTE, {2}, 1);
  add(PNG_COLOR_TYPE_PALETTE, {8}, 1, /*samples=*/3);
  return seeds;
}

// A size that nothing comes after.
inline std::vector<std::string> RefusedPngs() {
  return {WritePng(70'000, 70'000, {}, {}), WritePng(4'000, 4'000, {}, {})};
}

}  // namespace cosched
