#include "workloads/images/image_scaler.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace cosched {
namespace {

constexpr size_t kRgb = 3;
// Of ImageNet's images, with values of 0 to 1; of grey ones, those of their brightness.
constexpr std::array<float, kRgb> kMean = {0.485f, 0.456f, 0.406f};
constexpr std::array<float, kRgb> kDeviation = {0.229f, 0.224f, 0.225f};
constexpr float kGreyMean = 0.459f, kGreyDeviation = 0.226f;
constexpr std::array<float, kRgb> kBrightness = {0.299f, 0.587f, 0.114f};

}  // namespace

ImageScaler::ImageScaler(const Pixels& from, int height, int width, int channels)
    : from_(from), channels_(channels) {
  const double scale =
      std::min(static_cast<double>(from.width) / width, static_cast<double>(from.height) / height);
  rows_ = TapsAlong(from.height, height, scale);
  columns_ = TapsAlong(from.width, width, scale);
}

std::vector<ImageScaler::Taps> ImageScaler::TapsAlong(int from, int to, double scale) {
  const double begin = (from - to * scale) / 2;
  const double reach = std::max(1.0, scale);
  std::vector<Taps> all(static_cast<size_t>(to));
  for (int i = 0; i < to; ++i) {
    const double centre = begin + (i + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(std::ceil(centre - reach - 0.5)));
    const int last = std::min(from - 1, static_cast<int>(std::floor(centre + reach - 0.5)));
    std::vector<double> weights;
    double sum = 0;
    for (int at = first; at <= last; ++at) {
      weights.push_back(std::max(0.0, 1 - std::abs(at + 0.5 - centre) / reach));
      sum += weights.back();
    }
    Taps& taps = all[static_cast<size_t>(i)];
    taps.first = first;
    for (const double weight : weights) taps.weights.push_back(static_cast<float>(weight / sum));
  }
  return all;
}

int64_t ImageScaler::PixelsOfARow() const {
  const size_t most = rows_[rows_.size() / 2].weights.size();
  return static_cast<int64_t>(most) * from_.width;
}

void ImageScaler::Normalise(const float* colours, float* to) const {
  if (channels_ == 1) {
    float brightness = 0;
    for (size_t c = 0; c < kRgb; ++c) brightness += kBrightness[c] * colours[c];
    *to = (brightness / 255 - kGreyMean) / kGreyDeviation;
    return;
  }
  for (size_t c = 0; c < kRgb; ++c) to[c] = (colours[c] / 255 - kMean[c]) / kDeviation[c];
}

// Along columns first: a row of the source at a time, as it lies in memory.
void ImageScaler::Scale(int first, int end, float* image) const {
  const size_t stride = kRgb * static_cast<size_t>(from_.width);
  std::vector<float> line(stride);
  for (int y = first; y < end; ++y) {
    const Taps& row = rows_[static_cast<size_t>(y)];
    std::fill(line.begin(), line.end(), 0.0f);
    for (size_t tap = 0; tap < row.weights.size(); ++tap) {
      const uint8_t* const source =
          from_.rgb.data() + stride * (static_cast<size_t>(row.first) + tap);
      const float weight = row.weights[tap];
      for (size_t i = 0; i < stride; ++i) line[i] += weight * static_cast<float>(source[i]);
    }
    float* to = image + static_cast<size_t>(y) * columns_.size() * static_cast<size_t>(channels_);
    for (const Taps& column : columns_) {
      std::array<float, kRgb> colours = {};
      const float* source = line.data() + kRgb * static_cast<size_t>(column.first);
      for (const float weight : column.weights) {
        for (size_t c = 0; c < kRgb; ++c) colours[c] += weight * source[c];
        source += kRgb;
      }
      Normalise(colours.data(), to);
      to += channels_;
    }
  }
}

}  // namespace cosched
