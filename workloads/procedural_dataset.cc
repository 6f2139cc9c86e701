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
};

struct Pattern {
  std::array<Grating, kGratings> gratings;
  std::vector<float> colours;  // Each grating's weight in channel 0, in channel 1, …
};

Pattern RandomPattern(Random random, int64_t channels) {
  Pattern pattern;
  for (Grating& grating : pattern.gratings) {
    const double cycles = random.Uniform(1, 4);
    const double angle = random.Uniform(0, std::numbers::pi);
    grating.cycles_x = cycles * std::cos(angle);
    grating.cycles_y = cycles * std::sin(angle);
    grating.phase = random.Uniform(0, 2 * std::numbers::pi);
  }
  double power = 0;  // A sine wave's mean square is one half.
  for (int64_t i = 0; i < channels * kGratings; ++i) {
    pattern.colours.push_back(static_cast<float>(random.Normal(0, 1)));
    power += 0.5 * pattern.colours.back() * pattern.colours.back();
  }
  const double mean_power = power / static_cast<double>(channels);
  const auto scale = static_cast<float>(std::sqrt(kSignalVariance / (mean_power + 1e-9)));
  for (float& weight : pattern.colours) weight *= scale;
  return pattern;
}

// sin and cos of each grating's phase along one side. By the addition theorem two such tables give
// a whole grating with two multiplications a pixel.
struct Phases {
  explicit Phases(int64_t size)
      : sine(static_cast<size_t>(size * kGratings)), cosine(sine.size()) {}

  void Fill(int grating, double cycles, double phase) {
    const size_t size = sine.size() / kGratings;
    const double step = 2 * std::numbers::pi * cycles / static_cast<double>(size);
    const double turn_sine = std::sin(step), turn_cosine = std::cos(step);
    double s = std::sin(phase), c = std::cos(phase);
    for (size_t i = 0; i < size; ++i) {
      sine[i * kGratings + static_cast<size_t>(grating)] = static_cast<float>(s);
      cosine[i * kGratings + static_cast<size_t>(grating)] = static_cast<float>(c);
      const double next = s * turn_cosine + c * turn_sine;
      c = c * turn_cosine - s * turn_sine;
      s = next;
    }
  }

  std::vector<float> sine, cosine;  // Gratings of position 0, of position 1, …
};

// Uniform noise of this standard deviation, four 16-bit draws from each word: normal draws would
// cost more than the whole image.
void AddNoise(Random* random, double deviation, int64_t count, float* pixels) {
  const auto scale = static_cast<float>(deviation * std::numbers::sqrt3 / 32768.0);
  const auto draw = [scale](uint64_t word, int part) {
    return scale * (static_cast<float>(static_cast<int>(word >> 16 * part & 0xffff)) - 32767.5f);
  };
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const uint64_t word = random->Next();
    for (int part = 0; part < 4; ++part) pixels[i + part] += draw(word, part);
  }
  const uint64_t word = random->Next();
  for (int part = 0; i < count; ++part, ++i) pixels[i] += draw(word, part);
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
    Phases along_x(width), along_y(height);
    for (int g = 0; g < kGratings; ++g) {
      const Grating& grating = pattern.gratings[static_cast<size_t>(g)];
      const double shift = grating.cycles_x * shift_x + grating.cycles_y * shift_y;
      along_x.Fill(g, grating.cycles_x, grating.phase + 2 * std::numbers::pi * shift);
      along_y.Fill(g, grating.cycles_y, 0);
    }
    for (int64_t y = 0; y < height; ++y) {
      std::array<float, kGratings> sine, cosine;
      for (size_t g = 0; g < kGratings; ++g) {
        sine[g] = contrast * along_y.sine[static_cast<size_t>(y) * kGratings + g];
        cosine[g] = contrast * along_y.cosine[static_cast<size_t>(y) * kGratings + g];
      }
      const float* sine_x = along_x.sine.data();
      const float* cosine_x = along_x.cosine.data();
      for (int64_t x = 0; x < width; ++x, sine_x += kGratings, cosine_x += kGratings) {
        std::array<float, kGratings> wave;
        for (size_t g = 0; g < kGratings; ++g) {
          wave[g] = sine_x[g] * cosine[g] + cosine_x[g] * sine[g];
        }
        const float* colour = pattern.colours.data();
        for (int64_t c = 0; c < channels; ++c, colour += kGratings) {
          float sum = 0;
          for (size_t g = 0; g < kGratings; ++g) sum += wave[g] * colour[g];
          *pixels++ = sum;
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
