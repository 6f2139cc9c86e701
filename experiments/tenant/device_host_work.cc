#include "experiments/tenant/device_host_work.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "engine/pool/spin.h"
#include "workloads/dataset_of_program.h"

namespace cosched {
namespace {

// Few microseconds of work, between two looks at the clock.
constexpr size_t kPixelsTogether = 2048;

// Zero mean and unit variance, as a network wants its input: on an image that has been through it
// before, the same work again.
void Normalise(std::span<float> pixels) {
  double sum = 0, squares = 0;
  for (const float pixel : pixels) {
    sum += pixel;
    squares += static_cast<double>(pixel) * pixel;
  }
  const double mean = sum / static_cast<double>(pixels.size());
  const double variance = squares / static_cast<double>(pixels.size()) - mean * mean;
  const double scale = 1 / std::sqrt(std::max(variance, 1e-6));
  for (float& pixel : pixels) pixel = static_cast<float>((pixel - mean) * scale);
}

}  // namespace

DeviceHostWork::DeviceHostWork(const ProgramSpec& program, Duration cpu_time)
    : model_(OpenModel(program.model)),
      dataset_(OpenDatasetOf(program, *model_)),
      cpu_time_(cpu_time) {}

void DeviceHostWork::Do(uint64_t number, std::vector<float>* pixels) const {
  const Duration end = ThreadCpuTime() + cpu_time_;
  pixels->resize(static_cast<size_t>(model_->image.Elements()));
  dataset_->Read(static_cast<int64_t>(number % static_cast<uint64_t>(dataset_->Size())),
                 pixels->data());
  for (size_t first = 0; ThreadCpuTime() < end;) {
    const size_t count = std::min(kPixelsTogether, pixels->size() - first);
    Normalise(std::span(*pixels).subspan(first, count));
    first += count;
    if (first == pixels->size()) first = 0;
  }
}

}  // namespace cosched
