#include "workloads/procedural_dataset.h"

#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/random.h"

namespace cosched {
namespace {

constexpr int kGratings = 3;
constexpr double kSignalVariance = 0.5;  // The rest of the unit variance is noise.
constexpr double kLargestShift = 0.08;   // Share of the image's side.

struct Grating {
  double cycles_x = 0, cycles_y = 0;  // Over the whole image.
  double phase = 0;
  std::vector<float> colour;  // Weight in each channel.
};
using Pattern = std::array<Grating, kGratings>;

Pattern RandomPattern(Random random, int64_t channels) {
  Pattern pattern;
  double power = 0;
  for (Grating& grating : pattern) {
    const double cycles = random.Uniform(1, 4);
    const double angle = random.Uniform(0, std::numbers::pi);
    grating.cycles_x = cycles * std::cos(angle);
    grating.cycles_y = cycles * std::sin(angle);
    grating.phase = random.Uniform(0, 2 * std::numbers::pi);
    for (int64_t c = 0; c < channels; ++c) {
      grating.colour.push_back(static_cast<float>(random.Normal(0, 1)));
      power += 0.5 * grating.colour.back() * grating.colour.back();
    }
  }
  const double mean_power = power / static_cast<double>(channels);
  const auto scale = static_cast<float>(std::sqrt(kSignalVariance / (mean_power + 1e-9)));
  for (Grating& grating : pattern) {
    for (float& weight : grating.colour) weight *= scale;
  }
  return pattern;
}

// sin and cos of a phase that advances evenly along one side: by the addition theorem two such
// tables give a whole grating with two multiplications a pixel.
class Wave {
 public:
  Wave(double cycles, double phase, int64_t size) : values_(static_cast<size_t>(2 * size)) {
    for (int64_t i = 0; i < size; ++i) {
      const double a = phase + 2 * std::numbers::pi * cycles * static_cast<double>(i) /
                                   static_cast<double>(size);
      values_[static_cast<size_t>(2 * i)] = static_cast<float>(std::sin(a));
      values_[static_cast<size_t>(2 * i + 1)] = static_cast<float>(std::cos(a));
    }
  }
  float Sine(int64_t i) const { return values_[static_cast<size_t>(2 * i)]; }
  float Cosine(int64_t i) const { return values_[static_cast<size_t>(2 * i + 1)]; }

 private:
  std::vector<float> values_;
};

void AddNoise(Random* random, double deviation, int64_t count, float* pixels) {
  // Uniform noise of this standard deviation, four 16-bit draws from each word: normal draws would
  // cost more than the whole image.
  const auto scale = static_cast<float>(deviation * std::numbers::sqrt3 / 32768.0);
  for (int64_t i = 0; i < count;) {
    uint64_t word = random->Next();
    for (int part = 0; part < 4 && i < count; ++part, ++i, word >>= 16) {
      pixels[i] += scale * (static_cast<float>(word & 0xffff) - 32767.5f);
    }
  }
}

class ProceduralDataset : public Dataset {
 public:
  ProceduralDataset(const Shape& shape, int classes, uint64_t seed)
      : shape_(shape), images_seed_(Random(seed).Derive("images").Next()) {
    for (int c = 0; c < classes; ++c) {
      patterns_.push_back(
          RandomPattern(Random(seed).Derive("class " + std::to_string(c)), shape[2]));
    }
  }

  int64_t Size() const override { return kProceduralSize; }
  Shape ImageShape() const override { return shape_; }
  int Classes() const override { return static_cast<int>(patterns_.size()); }

  int Read(int64_t index, float* pixels) const override {
    CHECK(index >= 0 && index < Size()) << "image " << index;
    const auto label = static_cast<int>(index % Classes());
    // Odd, so that no two images share a seed; not Random's own increment, which would make
    // neighbours share state.
    constexpr uint64_t kSpread = 0xd1342543de82ef95;
    Random random(images_seed_ + kSpread * static_cast<uint64_t>(index + 1));
    Render(patterns_[static_cast<size_t>(label)], &random, pixels);
    AddNoise(&random, std::sqrt(1 - kSignalVariance), shape_.Elements(), pixels);
    return label;
  }

 private:
  void Render(const Pattern& pattern, Random* random, float* pixels) const {
    const int64_t height = shape_[0], width = shape_[1], channels = shape_[2];
    const double shift_x = random->Uniform(-kLargestShift, kLargestShift);
    const double shift_y = random->Uniform(-kLargestShift, kLargestShift);
    const auto contrast = static_cast<float>(random->Uniform(0.7, 1.3));
    std::vector<Wave> along_x, along_y;
    for (const Grating& g : pattern) {
      const double shift = g.cycles_x * shift_x + g.cycles_y * shift_y;
      along_x.emplace_back(g.cycles_x, g.phase + 2 * std::numbers::pi * shift, width);
      along_y.emplace_back(g.cycles_y, 0, height);
    }
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x, pixels += channels) {
        std::array<float, kGratings> wave;
        for (size_t g = 0; g < kGratings; ++g) {
          wave[g] = contrast * (along_x[g].Sine(x) * along_y[g].Cosine(y) +
                                along_x[g].Cosine(x) * along_y[g].Sine(y));
        }
        for (int64_t c = 0; c < channels; ++c) {
          pixels[c] = 0;
          for (size_t g = 0; g < kGratings; ++g) {
            pixels[c] += wave[g] * pattern[g].colour[static_cast<size_t>(c)];
          }
        }
      }
    }
  }

  Shape shape_;
  uint64_t images_seed_;
  std::vector<Pattern> patterns_;
};

}  // namespace

std::unique_ptr<Dataset> MakeProceduralDataset(const Shape& shape, int classes, uint64_t seed) {
  CHECK(shape.Rank() == 3 && shape.Elements() > 0) << "image shape " << shape.ToString();
  CHECK(classes > 0) << classes << " classes";
  return std::make_unique<ProceduralDataset>(shape, classes, seed);
}

}  // namespace cosched
