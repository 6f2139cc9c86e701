// The promise of malleable pools: a training ends in bit-identical weights however often it was
// resized.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <thread>
#include <vector>

#include "engine/base/random.h"
#include "engine/base/topology.h"
#include "tests/paths.h"
#include "workloads/training_job.h"

namespace cosched {
namespace {

constexpr Split kSmall = {2, 4};

// Resizes a job at random every few milliseconds, over sizes 0, 1, 2 … capacity, until it is
// destroyed.
class RandomResizer {
 public:
  RandomResizer(Session* session, const CpuSet& cpus, uint64_t seed)
      : thread_([this, session, seed, capacity = session->Pools().Capacity(),
                 cpus = cpus.ToVector()](const std::stop_token& stop) {
          Random random(seed);
          while (!stop.stop_requested()) {
            // More than the machine has must be legal, too: threads are clamped, or share cores.
            const auto size =
                static_cast<int>(random.Below(static_cast<uint64_t>(capacity.intra) + 1));
            CpuSet cores;
            for (int i = 0; i < size; ++i) cores.Add(cpus[random.Below(cpus.size())]);
            const Split split = {
                1 + static_cast<int>(random.Below(static_cast<uint64_t>(capacity.inter))), size};
            session->Resize(cores, size == 0 ? Split{0, 0} : split);
            ++resizes_;
            std::this_thread::sleep_for(std::chrono::microseconds(500 + random.Below(4000)));
          }
          session->Resize(CpuSet{cpus[0]}, {1, 1});  // Not paused for ever.
        }) {}
  int Stop() {
    thread_.request_stop();
    thread_.join();
    return resizes_;
  }

 private:
  int resizes_ = 0;  // Read after the join only.
  std::jthread thread_;
};

struct Outcome {
  uint64_t hash = 0;
  double accuracy = 0;
  double images_per_second = 0;
  int resizes = 0;
};

Outcome Train(JobSettings settings, const Dataset& train, const Dataset* held_out, int64_t steps,
              bool resize) {
  TrainingJob job(settings, train);
  Outcome outcome;
  const auto start = std::chrono::steady_clock::now();
  if (resize) {
    RandomResizer resizer(&job.session(), Topology::ThisMachine().Cpus(), settings.seed);
    for (int64_t i = 0; i < steps; ++i) job.Step();
    outcome.resizes = resizer.Stop();
  } else {
    for (int64_t i = 0; i < steps; ++i) job.Step();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  outcome.images_per_second = static_cast<double>(steps * settings.batch) / seconds.count();
  outcome.hash = job.session().VariablesHash();
  if (held_out != nullptr) outcome.accuracy = job.Accuracy(*held_out);
  std::cout << settings.model << ", resized " << outcome.resizes
            << " times: " << outcome.images_per_second << " images/s, held-out accuracy "
            << outcome.accuracy << "\n";
  return outcome;
}

// The unresized run, and runs resized with and without binding.
void ExpectSameWeights(JobSettings settings, const Dataset& train, const Dataset* held_out,
                       int64_t steps, double least_accuracy, Split capacity = kSmall) {
  settings.session.inter_op_parallelism_threads = capacity.inter;
  settings.session.intra_op_parallelism_threads = capacity.intra;
  const Topology topology = Topology::ThisMachine();
  const Outcome expected = Train(settings, train, held_out, steps, false);
  EXPECT_GE(expected.accuracy, least_accuracy);
  for (auto binding : {ThreadPools::Binding::kNone, ThreadPools::Binding::kEachToItsCore}) {
    settings.session.binding = binding;
    settings.session.topology = &topology;
    const Outcome resized = Train(settings, train, held_out, steps, true);
    EXPECT_GT(resized.resizes, 5);
    EXPECT_EQ(resized.hash, expected.hash);
    EXPECT_EQ(resized.accuracy, expected.accuracy);
  }
}

std::string MnistFolder() {
  const char* shared = std::getenv("COSCHED_SHARED_DATA");
  const std::filesystem::path data = shared != nullptr ? shared : InSource("../shared/data");
  return (data / "images").string();
}

TEST(ResizeTest, Lenet5OnMnistReaches95PercentWithTheSameWeights) {
  const std::string folder = MnistFolder();
  if (!std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "no MNIST files: " << folder << " is missing; set COSCHED_SHARED_DATA";
  }
  const auto mnist = OpenDataset("mnist", folder, {}, 10, 1);
  ASSERT_EQ(mnist->Size(), 10000);
  const auto train = Slice(*mnist, 0, 8000), held_out = Slice(*mnist, 8000, 2000);
  JobSettings settings;
  settings.model = "lenet5";
  ExpectSameWeights(settings, *train, held_out.get(), 3 * 8000 / settings.batch, 0.95);
}

TEST(ResizeTest, Lenet5OnTheProceduralSetEndsWithTheSameWeights) {
  const auto images = OpenDataset("procedural", "", {28, 28, 1}, 10, 1);
  JobSettings settings;
  settings.model = "lenet5";
  ExpectSameWeights(settings, *images, nullptr, 100, 0);
}

TEST(ResizeTest, LargerCapacitiesEndWithTheSameWeightsToo) {
  const auto images = OpenDataset("procedural", "", {28, 28, 1}, 10, 1);
  JobSettings settings;
  settings.model = "lenet5";
  for (const Split capacity : {Split{8, 8}, Split{64, 64}})
    ExpectSameWeights(settings, *images, nullptr, 60, 0, capacity);
}

TEST(ResizeTest, Resnet20OnTheProceduralSetEndsWithTheSameWeights) {
  const auto images = OpenDataset("procedural", "", {32, 32, 3}, 10, 1);
  JobSettings settings;
  settings.model = "resnet20";
  settings.batch = 16;
  ExpectSameWeights(settings, *images, nullptr, 8, 0);
}

}  // namespace
}  // namespace cosched
