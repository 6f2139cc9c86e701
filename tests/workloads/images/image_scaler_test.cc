// What a network is fed: the middle of an image, scaled and normalised.

#include "workloads/images/image_scaler.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cosched {
namespace {

Pixels Even(int width, int height, uint8_t red, uint8_t green, uint8_t blue) {
  Pixels pixels{.width = width, .height = height};
  for (int i = 0; i < width * height; ++i) {
    pixels.rgb.push_back(red);
    pixels.rgb.push_back(green);
    pixels.rgb.push_back(blue);
  }
  return pixels;
}

std::vector<float> Scaled(const Pixels& from, int height, int width, int channels) {
  std::vector<float> image(static_cast<size_t>(height * width * channels), -99);
  ImageScaler(from, height, width, channels).Scale(0, height, image.data());
  return image;
}

// The values of 0 to 255 that a channel had before it was normalised.
std::vector<double> Reds(const std::vector<float>& image) {
  std::vector<double> reds;
  for (size_t i = 0; i < image.size(); i += 3) reds.push_back((image[i] * 0.229 + 0.485) * 255);
  return reds;
}

void ExpectReds(const std::vector<float>& image, const std::vector<double>& expected) {
  const std::vector<double> reds = Reds(image);
  ASSERT_EQ(reds.size(), expected.size());
  for (size_t i = 0; i < reds.size(); ++i) EXPECT_NEAR(reds[i], expected[i], 1e-3) << i;
}

TEST(ImageScalerTest, ColoursAreNormalisedAsImageNets) {
  for (const int side : {1, 7, 64}) {
    const std::vector<float> image = Scaled(Even(10, 13, 255, 0, 51), side, side, 3);
    for (size_t i = 0; i < image.size(); i += 3) {
      EXPECT_NEAR(image[i], (1 - 0.485) / 0.229, 1e-5);
      EXPECT_NEAR(image[i + 1], (0 - 0.456) / 0.224, 1e-5);
      EXPECT_NEAR(image[i + 2], (0.2 - 0.406) / 0.225, 1e-5);
    }
  }
}

TEST(ImageScalerTest, GreyIsBrightness) {
  const std::vector<float> image = Scaled(Even(4, 4, 200, 100, 50), 2, 2, 1);
  ASSERT_EQ(image.size(), 4u);
  const double brightness = (0.299 * 200 + 0.587 * 100 + 0.114 * 50) / 255;
  for (const float value : image) EXPECT_NEAR(value, (brightness - 0.459) / 0.226, 1e-5);
}

Pixels Row(const std::vector<uint8_t>& reds, int height = 1) {
  Pixels pixels{.width = static_cast<int>(reds.size()) / height, .height = height};
  for (const uint8_t red : reds) pixels.rgb.insert(pixels.rgb.end(), {red, 0, 0});
  return pixels;
}

TEST(ImageScalerTest, EqualSizesGiveEqualPixels) {
  ExpectReds(Scaled(Row({1, 2, 3, 4, 5, 6}, 2), 2, 3, 3), {1, 2, 3, 4, 5, 6});
}

TEST(ImageScalerTest, BilinearWhereItGrows) {
  // Places of the four: 0.25, 0.75, 1.25, 1.75, of pixels whose middles are 0.5 and 1.5.
  const std::vector<float> image = Scaled(Row({100, 200, 100, 200}, 2), 4, 4, 3);
  for (size_t row = 0; row < 4; ++row) {
    const std::vector<float> one(image.begin() + static_cast<std::ptrdiff_t>(row * 12),
                                 image.begin() + static_cast<std::ptrdiff_t>((row + 1) * 12));
    ExpectReds(one, {100, 125, 175, 200});
  }
}

TEST(ImageScalerTest, NoPixelIsLeftOutWhereItShrinks) {
  // A triangle of two pixels to each side: weights 1/4, 3/4, 3/4, 1/4 and what is there at the end.
  ExpectReds(
      Scaled(Row({0, 40, 80, 120, 0, 40, 80, 120}, 2), 1, 2, 3),
      {(0.75 * 0 + 0.75 * 40 + 0.25 * 80) / 1.75, (0.25 * 40 + 0.75 * 80 + 0.75 * 120) / 1.75});
}

TEST(ImageScalerTest, ItIsTheMiddle) {
  ExpectReds(Scaled(Row({9, 9, 50, 9, 9}), 1, 1, 3), {50});
  ExpectReds(Scaled(Row({9, 9, 50, 9, 9}, 5), 1, 1, 3), {50});
}

TEST(ImageScalerTest, RowsDependOnNoOtherCall) {
  Pixels pixels = Even(50, 40, 0, 0, 0);
  for (size_t i = 0; i < pixels.rgb.size(); ++i) pixels.rgb[i] = static_cast<uint8_t>(i * 7 % 256);
  const std::vector<float> whole = Scaled(pixels, 17, 23, 3);
  std::vector<float> pieces(whole.size());
  const ImageScaler scaler(pixels, 17, 23, 3);
  EXPECT_EQ(scaler.Height(), 17);
  for (const int first : {12, 0, 5}) {
    scaler.Scale(first, first == 12 ? 17 : first == 5 ? 12 : 5, pieces.data());
  }
  EXPECT_EQ(pieces, whole);
}

// The narrowest and the flattest.
TEST(ImageScalerTest, AnySizeHasAMiddle) {
  for (const auto& [width, height] : {std::pair(1, 3000), std::pair(3000, 1), std::pair(1, 1)}) {
    for (const float value : Scaled(Even(width, height, 255, 255, 255), 8, 8, 3))
      EXPECT_TRUE(std::isfinite(value) && value > 2) << width << " x " << height;
  }
}

}  // namespace
}  // namespace cosched
