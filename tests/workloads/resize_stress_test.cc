// Random resizes, pauses and resumes for a while, from several threads, through every door:
// training and inference end as if nobody had touched them. Beside the program's own ops the same
// pools run counted loops and closures, so that a lost or doubled one shows at once.
//
// COSCHED_STRESS_SECONDS is for how long is resized in all cases together; the runs that are
// compared with come on top.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/random.h"
#include "engine/base/topology.h"
#include "workloads/model.h"
#include "workloads/training_job.h"

namespace cosched {
namespace {

using std::chrono::steady_clock;
constexpr int kCases = 3 * 2 * 3;

std::chrono::duration<double> TimeForACase() {
  const char* text = std::getenv("COSCHED_STRESS_SECONDS");
  return std::chrono::duration<double>((text == nullptr ? 12.0 : std::strtod(text, nullptr)) /
                                       kCases);
}

// FNV-1a.
uint64_t Hash(uint64_t hash, const Tensor& tensor) {
  const auto* bytes = static_cast<const unsigned char*>(tensor.Data());
  for (size_t i = 0; i < tensor.Bytes(); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

// What is run, step by step, and what it has come to.
class Program {
 public:
  virtual ~Program() = default;
  virtual void Step() = 0;
  virtual uint64_t Fingerprint() = 0;
  virtual Session& session() = 0;
};

class Training final : public Program {
 public:
  Training(const std::string& model, const Shape& image, const SessionOptions& options)
      : images_(OpenDataset("procedural", "", image, 10, 1)) {
    JobSettings settings;
    settings.model = model;
    settings.batch = 8;
    settings.session = options;
    job_ = std::make_unique<TrainingJob>(settings, *images_);
  }
  void Step() override { job_->Step(); }
  uint64_t Fingerprint() override { return job_->session().VariablesHash(); }
  Session& session() override { return job_->session(); }

 private:
  std::unique_ptr<Dataset> images_;
  std::unique_ptr<TrainingJob> job_;
};

// ResNet-20 on random images; each step's scores count.
class Inference final : public Program {
 public:
  explicit Inference(const SessionOptions& options) {
    GraphBuilder builder(&graph_);
    const auto model = OpenModel("resnet20");
    const Shape shape = {8, model->image[0], model->image[1], model->image[2]};
    const Output images = builder.Placeholder("images", shape);
    scores_ = graph_.At(model->build(builder, images, false, 1).node).name;
    graph_.Build();
    session_ = std::make_unique<Session>(graph_, options);
    images_ = Tensor(shape);
  }
  void Step() override {
    for (int64_t i = 0; i < images_.Elements(); ++i) {
      images_.Floats()[i] = static_cast<float>(random_.Normal(0, 1));
    }
    hash_ = Hash(hash_, session_->Run({{"images", images_}}, {scores_})[0]);
  }
  uint64_t Fingerprint() override { return hash_; }
  Session& session() override { return *session_; }

 private:
  Graph graph_;
  std::string scores_;
  std::unique_ptr<Session> session_;
  Tensor images_;
  Random random_{3};
  uint64_t hash_ = 0xcbf29ce484222325u;
};

std::unique_ptr<Program> Start(const std::string& program, const SessionOptions& options) {
  if (program == "lenet5") return std::make_unique<Training>(program, Shape{28, 28, 1}, options);
  if (program == "resnet20") return std::make_unique<Training>(program, Shape{32, 32, 3}, options);
  return std::make_unique<Inference>(options);
}

// One random request after the other: everything at once, or one of cores, inter, intra and the
// pause alone, also to 0 and beyond the capacity.
void ResizeAtRandom(Session* session, Split capacity, const std::vector<int>& cpus, uint64_t seed,
                    const std::stop_token& stop) {
  Random random(seed);
  const auto cores = [&] {
    CpuSet set;
    for (uint64_t i = random.Below(5); i > 0; --i) set.Add(cpus[random.Below(cpus.size())]);
    return set;
  };
  const auto up_to = [&](int most) {
    return static_cast<int>(random.Below(static_cast<uint64_t>(most) + 2));
  };
  while (!stop.stop_requested()) {
    switch (random.Below(5)) {
      case 0: session->Resize(cores(), {up_to(capacity.inter), up_to(capacity.intra)}); break;
      case 1: session->Resize({.cores = cores()}); break;
      case 2: session->Resize({.inter = up_to(capacity.inter)}); break;
      case 3: session->Pools().Resize({.intra = up_to(capacity.intra)}); break;
      default: session->Resize({.paused = random.Below(3) == 0}); break;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random.Below(3000)));
  }
}

// Loops and closures on the program's own pools.
struct Counted {
  std::atomic<int64_t> expected_tasks{0}, tasks{0}, wrong_loops{0};
  std::atomic<int64_t> closures{0}, closures_run{0};

  void LoopUntil(MalleablePool* intra, const std::stop_token& stop) {
    constexpr int kTasks = 64;
    std::vector<std::atomic<int>> runs(kTasks);
    while (!stop.stop_requested()) {
      intra->ParallelFor(kTasks, [&](int task) {
        ++runs[static_cast<size_t>(task)];
        ++tasks;
      });
      expected_tasks += kTasks;
      for (std::atomic<int>& count : runs) wrong_loops += count.exchange(0) == 1 ? 0 : 1;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
  void ScheduleUntil(MalleablePool* inter, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      ++closures;
      inter->Schedule([this] { ++closures_run; });
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  }
};

// (program, inter, capacity of intra)
using Case = std::tuple<std::string, int, int>;
class ResizeStressTest : public ::testing::TestWithParam<Case> {};

TEST_P(ResizeStressTest, EndsAsIfNobodyHadTouchedIt) {
  const auto& [name, inter, intra] = GetParam();
  const Topology topology = Topology::ThisMachine();
  const std::vector<int> cpus = topology.Cpus().ToVector();
  SessionOptions options{.inter_op_parallelism_threads = inter,
                         .intra_op_parallelism_threads = intra};
  // So short that ops of a small batch have pieces to be paused between.
  options.piece_time = std::chrono::microseconds(50);
  const auto end = steady_clock::now() + TimeForACase();

  SessionOptions resized_options = options;
  const bool bound = (inter + intra) % 2 == 0;  // Half of the cases.
  if (bound) {
    resized_options.binding = ThreadPools::Binding::kEachToItsCore;
    resized_options.topology = &topology;
  }
  Counted counted;
  std::atomic<int64_t> reports{0};
  const std::unique_ptr<Program> resized = Start(name, resized_options);
  Session& session = resized->session();
  ASSERT_TRUE(session.Pools().WaitSettled(std::chrono::minutes(4)));
  session.Pools().OnResized([&](const ResizeReport&) { ++reports; });
  const int64_t first = session.Pools().Resize(topology.Cpus(), {inter, intra});
  int steps = 0;
  {
    std::vector<std::jthread> threads;
    for (uint64_t seed : {1, 2}) {
      threads.emplace_back([&, seed](const std::stop_token& stop) {
        ResizeAtRandom(&session, {inter, intra}, cpus, seed, stop);
      });
    }
    threads.emplace_back(
        [&](const std::stop_token& stop) { counted.LoopUntil(&session.Pools().intra(), stop); });
    threads.emplace_back([&](const std::stop_token& stop) {
      counted.ScheduleUntil(&session.Pools().inter(), stop);
    });
    for (; steps < 2 || steady_clock::now() < end; ++steps) resized->Step();
    for (std::jthread& thread : threads) thread.request_stop();
  }
  const int64_t last = session.Pools().Resize(
      {.cores = topology.Cpus(), .inter = inter, .intra = intra, .paused = false});
  ASSERT_TRUE(session.Pools().WaitSettled(std::chrono::minutes(4)));
  while (counted.closures_run < counted.closures) std::this_thread::yield();
  session.Pools().OnResized(nullptr);

  const std::unique_ptr<Program> expected = Start(name, options);
  for (int step = 0; step < steps; ++step) expected->Step();
  EXPECT_EQ(resized->Fingerprint(), expected->Fingerprint());
  EXPECT_EQ(session.NodesStarted(), expected->session().NodesStarted());
  EXPECT_EQ(session.PiecesRun(), expected->session().PiecesRun());
  if (name != "lenet5") {  // Whose ops are too short to be cut for eight threads.
    EXPECT_GT(session.PiecesRun(), session.NodesStarted()) << "no op had pieces";
  }
  EXPECT_EQ(counted.tasks.load(), counted.expected_tasks.load());
  EXPECT_EQ(counted.wrong_loops.load(), 0);
  EXPECT_EQ(counted.closures_run.load(), counted.closures.load());
  EXPECT_EQ(reports.load(), last - first + 1);
  EXPECT_GT(last - first, 1);
  std::cout << steps << " steps, " << last - first << " resizes, " << session.PiecesRun()
            << " pieces of " << session.NodesStarted() << " nodes, " << counted.tasks.load()
            << " tasks and " << counted.closures_run.load() << " closures counted\n";
}

INSTANTIATE_TEST_SUITE_P(Sizes, ResizeStressTest,
                         ::testing::Combine(::testing::Values("lenet5", "resnet20", "inference"),
                                            ::testing::Values(1, 2), ::testing::Values(1, 2, 8)),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "Inter" +
                                  std::to_string(std::get<1>(info.param)) + "Capacity" +
                                  std::to_string(std::get<2>(info.param));
                         });

}  // namespace
}  // namespace cosched
