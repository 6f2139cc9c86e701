// Every kind of both formats comes out as red, green and blue; what is no whole image is refused,
// with its name, and nothing else happens.

#include "workloads/images/image_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "tests/workloads/expect_input_error.h"
#include "tests/workloads/images/written_images.h"
#include "workloads/images/image_writer.h"

namespace cosched {
namespace {

using ::testing::ElementsAre;

Pixels Waves(int width, int height) {
  Pixels pixels{.width = width, .height = height};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      pixels.rgb.push_back(static_cast<uint8_t>(128 + 100 * std::sin(x * 0.07)));
      pixels.rgb.push_back(static_cast<uint8_t>(128 + 100 * std::sin(y * 0.05)));
      pixels.rgb.push_back(static_cast<uint8_t>((x + y) % 256 / 2));
    }
  }
  return pixels;
}

Pixels Decoded(const std::string& bytes) { return DecodeImage(bytes, "x.img"); }

// As a stage does: other pieces, same pixels.
Pixels DecodedInPieces(const std::string& bytes, int64_t pixels) {
  const std::unique_ptr<ImageReader> reader = OpenImage(bytes, "x.img");
  int pieces = 1;
  while (reader->Continue(pixels)) ++pieces;
  EXPECT_GT(pieces, 3);
  return reader->Take();
}

double MeanDifference(const Pixels& a, const Pixels& b) {
  EXPECT_EQ(a.rgb.size(), b.rgb.size());
  double sum = 0;
  for (size_t i = 0; i < a.rgb.size(); ++i) sum += std::abs(a.rgb[i] - b.rgb[i]);
  return sum / static_cast<double>(a.rgb.size());
}

void ExpectRefused(const std::string& bytes, const std::string& problem) {
  ExpectInputError([&] { Decoded(bytes); }, "x.img", problem);
}

TEST(ImageReaderTest, PngGivesThePixelsBack) {
  const Pixels pixels = Waves(123, 45);
  const std::string bytes = EncodePng(pixels);
  const Pixels decoded = Decoded(bytes);
  EXPECT_EQ(decoded.width, 123);
  EXPECT_EQ(decoded.height, 45);
  EXPECT_TRUE(decoded.rgb == pixels.rgb);
  EXPECT_TRUE(DecodedInPieces(bytes, 200).rgb == pixels.rgb);
}

TEST(ImageReaderTest, JpegGivesAboutThePixelsBack) {
  const Pixels pixels = Waves(123, 45);
  const std::string bytes = EncodeJpeg(pixels, 95);
  const Pixels decoded = Decoded(bytes);
  EXPECT_EQ(decoded.width, 123);
  EXPECT_EQ(decoded.height, 45);
  EXPECT_LT(MeanDifference(decoded, pixels), 3);
  EXPECT_TRUE(DecodedInPieces(bytes, 500).rgb == decoded.rgb);
  EXPECT_LT(EncodeJpeg(pixels, 30).size(), bytes.size());
}

TEST(ImageReaderTest, PngOfEveryKind) {
  using namespace std::string_literals;
  const auto rgb = [](uint32_t width, const PngKind& kind, const std::string& row) {
    return Decoded(WritePng(width, 1, kind, {row})).rgb;
  };
  EXPECT_THAT(rgb(2, {PNG_COLOR_TYPE_GRAY}, "\x07\xf0"s), ElementsAre(7, 7, 7, 240, 240, 240));
  EXPECT_THAT(rgb(2, {PNG_COLOR_TYPE_GRAY, 1}, "\x40"s), ElementsAre(0, 0, 0, 255, 255, 255));
  EXPECT_THAT(rgb(1, {PNG_COLOR_TYPE_GRAY, 16}, "\x80\x00"s), ElementsAre(128, 128, 128));
  EXPECT_THAT(rgb(1, {PNG_COLOR_TYPE_RGB, 16}, "\x01\x01\xff\xff\x80\x80"s),
              ElementsAre(1, 255, 128));
  // Opaque, half and not at all, on white.
  EXPECT_THAT(
      rgb(3, {PNG_COLOR_TYPE_RGB_ALPHA}, "\x01\x02\x03\xff\x00\x80\xff\x80\x09\x09\x09\x00"s),
      ElementsAre(1, 2, 3, 127, 191, 255, 255, 255, 255));
  EXPECT_THAT(rgb(2, {PNG_COLOR_TYPE_GRAY_ALPHA}, "\x05\xff\x05\x00"s),
              ElementsAre(5, 5, 5, 255, 255, 255));
  EXPECT_THAT(rgb(1, {PNG_COLOR_TYPE_RGB_ALPHA, 16}, "\x01\x01\x02\x02\x03\x03\xff\xff"s),
              ElementsAre(1, 2, 3));
  // The palette's second colour is transparent.
  EXPECT_THAT(rgb(3, {PNG_COLOR_TYPE_PALETTE}, "\x00\x01\x03"s),
              ElementsAre(255, 0, 0, 255, 255, 255, 10, 20, 30));
}

TEST(ImageReaderTest, InterlacedPng) {
  const Pixels pixels = Waves(37, 29);
  std::vector<std::string> rows;
  for (size_t y = 0; y < 29; ++y)
    rows.emplace_back(pixels.rgb.begin() + static_cast<std::ptrdiff_t>(y * 111),
                      pixels.rgb.begin() + static_cast<std::ptrdiff_t>((y + 1) * 111));
  const std::string bytes = WritePng(37, 29, {.interlaced = true}, rows);
  EXPECT_TRUE(Decoded(bytes).rgb == pixels.rgb);
  EXPECT_TRUE(DecodedInPieces(bytes, 100).rgb == pixels.rgb);
}

void ExpectNear(const Pixels& pixels, int red, int green, int blue) {
  ASSERT_EQ(pixels.rgb.size(), size_t{3} * 40 * 30);
  for (size_t i = 0; i < pixels.rgb.size(); i += 3) {
    ASSERT_NEAR(pixels.rgb[i], red, 3) << i;
    ASSERT_NEAR(pixels.rgb[i + 1], green, 3) << i;
    ASSERT_NEAR(pixels.rgb[i + 2], blue, 3) << i;
  }
}

TEST(ImageReaderTest, JpegOfEveryKind) {
  ExpectNear(Decoded(WriteJpeg(40, 30, {}, {200, 100, 50})), 200, 100, 50);
  ExpectNear(Decoded(WriteJpeg(40, 30, {.progressive = true}, {200, 100, 50})), 200, 100, 50);
  ExpectNear(Decoded(WriteJpeg(40, 30, {.arithmetic = true}, {200, 100, 50})), 200, 100, 50);
  ExpectNear(Decoded(WriteJpeg(40, 30, {1, JCS_GRAYSCALE, JCS_GRAYSCALE}, {77})), 77, 77, 77);
  // libjpeg writes Adobe's marker for four inks, which then are stored as what is missing.
  ExpectNear(Decoded(WriteJpeg(40, 30, {4, JCS_CMYK, JCS_CMYK}, {255, 128, 0, 255})), 255, 128, 0);
  ExpectNear(Decoded(WriteJpeg(40, 30, {4, JCS_CMYK, JCS_YCCK}, {200, 100, 50, 128})), 100, 50, 25);
}

TEST(ImageReaderTest, ProgressiveInPiecesIsTheSame) {
  const std::string bytes = WriteJpeg(400, 300, {.progressive = true}, {200, 100, 50});
  EXPECT_TRUE(DecodedInPieces(bytes, 10'000).rgb == Decoded(bytes).rgb);
}

TEST(ImageReaderTest, WhatIsNoImageIsRefused) {
  ExpectRefused("", "is empty");
  ExpectRefused("GIF89a and so on", "is neither JPEG nor PNG");
  ExpectRefused("\xff\xd8\xff", "is a broken JPEG");
  ExpectRefused("\xff\xd8\xff\xe0 this is not a picture at all", "is a broken JPEG");
  ExpectRefused("\x89PNG\r\n\x1a\n", "is a broken PNG: it ends too early");
  ExpectRefused("\x89PNG\r\n\x1a\n0123456789012345678901234567890", "is a broken PNG");
}

TEST(ImageReaderTest, EveryTruncationIsRefused) {
  const Pixels pixels = Waves(64, 48);
  for (const std::string& whole : {EncodePng(pixels), EncodeJpeg(pixels, 90),
                                   WriteJpeg(64, 48, {.progressive = true}, {9, 99, 199})}) {
    ASSERT_NO_THROW(Decoded(whole));
    for (size_t size = 0; size < whole.size(); size += 1 + size / 20) {
      EXPECT_THROW(Decoded(whole.substr(0, size)), InputError) << size << " of " << whole.size();
    }
    EXPECT_THROW(Decoded(whole.substr(0, whole.size() - 1)), InputError);
  }
}

TEST(ImageReaderTest, ChangedBytesAreNeverMoreThanRefused) {
  const Pixels pixels = Waves(50, 40);
  Random random(1);
  int refused = 0;
  for (int i = 0; i < 3'000; ++i) {
    std::string bytes = i % 3 == 0   ? EncodePng(pixels)
                        : i % 3 == 1 ? EncodeJpeg(pixels, 90)
                                     : WriteJpeg(50, 40, {.progressive = true}, {9, 99, 199});
    for (int change = 0; change <= i % 4; ++change) {
      bytes[8 + random.Below(bytes.size() - 8)] = static_cast<char>(random.Below(256));
    }
    try {
      const Pixels decoded = Decoded(bytes);
      EXPECT_EQ(decoded.rgb.size(),
                3 * static_cast<size_t>(decoded.width) * static_cast<size_t>(decoded.height));
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
}

// Bytes are changed until the library has said all of these at some time.
TEST(ImageReaderTest, WhatJpegsBrokenCodesStandForIsNeverShown) {
  std::set<std::string> left = {"bad arithmetic code", "bad Huffman code",
                                "Inconsistent progression", "premature end of data segment"};
  const auto kinds = {JpegKind{}, JpegKind{.arithmetic = true}, JpegKind{.progressive = true},
                      JpegKind{.progressive = true, .arithmetic = true}};
  Random random(2);
  for (int i = 0; i < 20'000 && !left.empty(); ++i) {
    std::string bytes = WriteJpeg(64, 48, *(kinds.begin() + i % 4), {9, 99, 199});
    bytes[random.Below(bytes.size())] = static_cast<char>(random.Below(256));
    try {
      Decoded(bytes);
    } catch (const InputError& error) {
      std::erase_if(left, [&error](const std::string& text) {
        return error.details().problem.find(text) != std::string::npos;
      });
    }
  }
  EXPECT_THAT(left, ::testing::IsEmpty());
}

TEST(ImageReaderTest, AJpegWithoutOneOfItsColoursIsBroken) {
  const std::string whole = WriteJpeg(40, 30, {.apart = true}, {200, 100, 50});
  ExpectNear(Decoded(whole), 200, 100, 50);
  const std::string kScan = "\xff\xda", kEnd = "\xff\xd9";
  std::vector<size_t> scans;
  for (size_t at = whole.find(kScan); at != std::string::npos; at = whole.find(kScan, at + 2))
    scans.push_back(at);
  ASSERT_EQ(scans.size(), 3u);
  for (const size_t scan : {scans[1], scans[2]})
    ExpectRefused(whole.substr(0, scan) + kEnd, "ends before all of its colours");
}

TEST(ImageReaderTest, ASizeIsNotBelievedWithoutTheBytesForIt) {
  ExpectRefused(WritePng(8'000, 8'000, {}, {}), "bytes, too few for 8000 x 8000 pixels");
  std::string jpeg = EncodeJpeg(Waves(16, 16), 90);
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\x1f\x40\x1f\x40", 4);
  ExpectRefused(jpeg, "bytes, too few for 8000 x 8000 pixels");
  // What fits into the fewest bytes does.
  for (const JpegKind& kind :
       {JpegKind{1, JCS_GRAYSCALE, JCS_GRAYSCALE}, JpegKind{.progressive = true}})
    EXPECT_EQ(Decoded(WriteJpeg(4'000, 4'000, kind, {255, 255, 255})).width, 4'000);
  const std::vector<std::string> rows(4'000, std::string(500, '\0'));
  EXPECT_EQ(Decoded(WritePng(4'000, 4'000, {PNG_COLOR_TYPE_GRAY, 1}, rows)).height, 4'000);
}

TEST(ImageReaderTest, HugeOnesAreRefusedBeforeTheirMemoryIsTaken) {
  ExpectRefused(WritePng(70'000, 70'000, {}, {}), "is 70000 x 70000 pixels");
  std::string jpeg = EncodeJpeg(Waves(16, 16), 90);
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xff\x00\xfe\x00", 4);
  ExpectRefused(jpeg, "is 65024 x 65280 pixels; allowed: 1 to 67108864 in all");
}

}  // namespace
}  // namespace cosched
