// How long it takes until a change of the number of threads is in effect: from the request until
// as many threads compute as were asked for, with nothing else running. A grow has its effect when
// the last added thread is awake on its core (by tasks: when it begins one), a shrink when the last
// surplus one has ended what it was doing and has left.
//
//   cosched/…      Session::Resize on all cores <-> one, and pause <-> resume: idle, inside a 3x3
//                  convolution of about 1 ms and 200 ms (of one thread), inside ResNet-20's
//                  training; inter-op threads 1 and 2. in_op = share of the requests that came
//                  while an op ran.
//   capacity/…     of sessions that could grow to 2 … 256 threads: a pause on one core, where one thread
//                  does all of an op's pieces, which grow with the capacity; a shrink from two inter-op
//                  threads on all cores to one on one, where the other ends its piece on that.
//   limit/…        a bare futex wake of a thread that is bound to another core, at the same
//                  moments: the kernel's share of a grow. What a grow takes beyond it is ours.
//   rebuild/…      what TensorFlow needs instead: end the step, save the weights, build the session
//                  anew with the other number, restore; in effect when its first node starts.
//                  first_step_ms = what that session's first step takes longer than others.
//   same_tasks/…   regions of 200 tasks of 1 ms on our pool, stock libgomp with
//                  omp_set_num_threads, and oneTBB with global_control.
//
// "Time" is the mean effect. Wants an idle machine; takes some minutes (--benchmark_filter).

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/random.h"
#include "engine/base/topology.h"
#include "engine/graph/graph_builder.h"
#include "engine/session/session.h"
#include "tests/bench/futex_limit.h"
#include "tests/bench/resize_peer.h"
#include "workloads/model.h"

namespace cosched {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// Effects of one kind of resize, as a benchmark's counters.
class Effects {
 public:
  void Add(benchmark::State* state, nanoseconds effect) {
    state->SetIterationTime(duration<double>(effect).count());
    microseconds_.push_back(duration<double, std::micro>(effect).count());
  }
  void Print(benchmark::State* state) {
    std::sort(microseconds_.begin(), microseconds_.end());
    if (microseconds_.empty()) return;
    const auto quantile = [this](double share) {
      return microseconds_[static_cast<size_t>(share * (microseconds_.size() - 1.0))];
    };
    state->counters["p50_us"] = quantile(0.5);
    state->counters["p99_us"] = quantile(0.99);
    state->counters["max_us"] = microseconds_.back();
  }

 private:
  std::vector<double> microseconds_;
};

int Cores() { return Topology::ThisMachine().Cpus().Count(); }

Tensor Randomly(const Shape& shape, double deviation) {
  Random random(1);
  Tensor tensor(shape);
  for (int64_t i = 0; i < tensor.Elements(); ++i) {
    tensor.Floats()[i] = static_cast<float>(random.Normal(0, deviation));
  }
  return tensor;
}

// A graph, what to feed and what to fetch.
struct Program {
  Graph graph;
  Feeds feeds;
  std::vector<std::string> fetches;
};

// As many independent convolutions as inter-op threads, so that each has one. An image of 14 rows
// takes one thread about 2 ms.
std::unique_ptr<Program> Convolutions(int count, int64_t images, int64_t rows) {
  auto program = std::make_unique<Program>();
  GraphBuilder builder(&program->graph);
  const Shape shape = {images, rows, 14, 256};
  const Output input = builder.Placeholder("images", shape);
  std::vector<NodeId> convolutions;
  for (int i = 0; i < count; ++i) {
    const Output weights =
        builder.Variable("weights" + std::to_string(i), Randomly({3, 3, 256, 256}, 0.05));
    convolutions.push_back(builder.Conv2D(input, weights, 1, Padding::kSame).node);
  }
  program->graph.Add("NoOp", "all", {}, {}, convolutions);
  program->graph.Build();
  program->feeds = {{"images", Randomly(shape, 1)}};
  program->fetches = {"all"};
  return program;
}

std::unique_ptr<Program> Resnet20Training() {
  constexpr int kBatch = 32;
  auto program = std::make_unique<Program>();
  GraphBuilder builder(&program->graph);
  const auto model = OpenModel("resnet20");
  const Shape shape = {kBatch, model->image[0], model->image[1], model->image[2]};
  const Output logits = model->build(builder, builder.Placeholder("images", shape), true, 1);
  const Output labels = builder.Placeholder("labels", {kBatch}, DataType::kInt32);
  const NodeId entropy = builder.SparseSoftmaxCrossEntropyWithLogits(logits, labels);
  const std::vector<Output>& variables = builder.TrainableVariables();
  builder.ApplyMomentum(variables, builder.Gradients(builder.MeanAll({entropy, 0}), variables),
                        0.01f, 0.9f, 0, "train");
  program->graph.Build();
  Tensor classes({kBatch}, DataType::kInt32);
  for (int i = 0; i < kBatch; ++i) classes.Ints()[i] = i % 10;
  program->feeds = {{"images", Randomly(shape, 1)}, {"labels", classes}};
  program->fetches = {"train"};
  return program;
}

// A session in which a program runs over and over, or nothing (null).
class Running {
 public:
  // With `cores` of the machine's, and threads for `capacity`.
  Running(std::unique_ptr<Program> program, int inter, int cores, int capacity)
      : topology_(Topology::ThisMachine()),
        cores_(topology_.Cpus().Lowest(cores)),
        program_(std::move(program)) {
    static const std::unique_ptr<Program> idle = Convolutions(1, 1, 1);
    SessionOptions options{.inter_op_parallelism_threads = inter,
                           .intra_op_parallelism_threads = capacity};
    options.binding = ThreadPools::Binding::kEachToItsCore;
    options.topology = &topology_;
    session_ = std::make_unique<Session>(program_ ? program_->graph : idle->graph, options);
    session_->Resize(cores_, Split{inter, capacity});
    if (program_ == nullptr) return;
    session_->Run(program_->feeds, program_->fetches);  // Creates the kernels.
    runner_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) session_->Run(program_->feeds, program_->fetches);
    });
  }
  ~Running() {
    runner_.request_stop();
    session_->Resize({.cores = cores_, .paused = false});
  }

  // Resizes and waits until it is settled.
  ResizeReport Resize(const ResizeRequest& request) {
    ResizeReport last;
    session_->Pools().OnResized([&last](const ResizeReport& report) { last = report; });
    session_->Resize(request);
    session_->Pools().WaitSettled(std::chrono::hours(1));
    session_->Pools().OnResized(nullptr);
    return last;
  }
  ResizeRequest ToAll() const { return {.cores = cores_}; }
  ResizeRequest ToOne() const { return {.cores = CpuSet{topology_.Cpus().First()}}; }

 private:
  const Topology topology_;
  const CpuSet cores_;
  const std::unique_ptr<Program> program_;
  std::unique_ptr<Session> session_;
  std::jthread runner_;
};

// At a moment that has nothing to do with what is running.
void SleepAMoment(Random* random, milliseconds most) {
  std::this_thread::sleep_for(
      std::chrono::microseconds(random->Below(static_cast<uint64_t>(most.count()) * 1000)));
}

using MakeProgram = std::function<std::unique_ptr<Program>(int inter)>;

void ResizeSession(benchmark::State& state, const MakeProgram& make, int inter,
                   const std::string& kind, int cores = Cores(), int capacity = Cores()) {
  Running running(make(inter), inter, cores, capacity);
  const bool pause = kind == "pause" || kind == "resume";
  const ResizeRequest up = pause ? ResizeRequest{.paused = false} : running.ToAll();
  const ResizeRequest down = pause ? ResizeRequest{.paused = true} : running.ToOne();
  const bool measures_up = kind == "grow" || kind == "resume";
  Random random(1);
  Effects effects;
  double in_op = 0;
  for (auto _ : state) {
    running.Resize(measures_up ? down : up);
    SleepAMoment(&random, milliseconds(15));
    const ResizeReport report = running.Resize(measures_up ? up : down);
    effects.Add(&state, report.taken);
    in_op += report.op.empty() ? 0 : 1;
  }
  effects.Print(&state);
  state.counters["in_op"] = in_op / static_cast<double>(state.iterations());
}

void WakeOneThread(benchmark::State& state) {
  FutexLimit limit;
  Random random(1);
  Effects effects;
  for (auto _ : state) {
    SleepAMoment(&random, milliseconds(15));
    effects.Add(&state, limit.Wake());
  }
  effects.Print(&state);
}

// What a program must do that can't be resized. It does not notice a request before its step ends.
void RebuildSession(benchmark::State& state, bool grow) {
  const std::unique_ptr<Program> program = Resnet20Training();
  const int before = grow ? 1 : Cores(), after = grow ? Cores() : 1;
  const auto build = [&](int threads) {
    return std::make_unique<Session>(program->graph,
                                     SessionOptions{.intra_op_parallelism_threads = threads});
  };
  const auto step = [&](Session* session) {
    const auto start = steady_clock::now();
    session->Run(program->feeds, program->fetches);
    return steady_clock::now() - start;
  };
  Random random(1);
  Effects effects;
  double first_step_ms = 0;
  for (auto _ : state) {
    std::unique_ptr<Session> session = build(before);
    step(session.get());
    const nanoseconds usual = step(session.get());
    // The request comes at a random moment of this step.
    const auto request = steady_clock::now() + random.Uniform() * usual;
    step(session.get());
    std::vector<std::pair<std::string, Tensor>> weights;
    for (const std::string& name : session->VariableNames()) {
      weights.emplace_back(name, session->Variable(name));
    }
    session.reset();
    session = build(after);
    for (const auto& [name, value] : weights) session->SetVariable(name, value);
    steady_clock::time_point started;
    session->Pools().WaitSettled(std::chrono::hours(1));
    session->Pools().OnResized([&](const ResizeReport& report) { started = report.start; });
    session->AtNode(1, {});  // Changes nothing, but says when.
    const nanoseconds first = step(session.get());
    session->Pools().WaitSettled(std::chrono::hours(1));
    session->Pools().OnResized(nullptr);
    effects.Add(&state, std::max(nanoseconds(0),
                                 std::chrono::duration_cast<nanoseconds>(started - request)));
    first_step_ms += duration<double, std::milli>(first - step(session.get())).count();
  }
  effects.Print(&state);
  state.counters["first_step_ms"] = first_step_ms / static_cast<double>(state.iterations());
}

// Watches tasks from inside: when threads other than the caller begin and end one.
class TaskWatch {
 public:
  TaskWatch() : rounds_(Calibrate()) {}

  void SetCaller() { caller_ = true; }
  void Task() {
    if (!caller_) {
      int64_t none = 0;
      const int64_t now = Now();
      first_begin_.compare_exchange_strong(none, now);
    }
    Work(rounds_);
    if (!caller_) last_end_.store(Now());
  }
  void Arm() { first_begin_.store(0); }
  // The first task that another thread began since Arm().
  steady_clock::time_point WaitForBegin() const {
    while (first_begin_.load() == 0) std::this_thread::sleep_for(milliseconds(1));
    return At(first_begin_.load());
  }
  // The last task that another thread ended, once there has been none for a while.
  steady_clock::time_point WaitForSilence() const {
    while (steady_clock::now() - At(last_end_.load()) < milliseconds(60)) {
      std::this_thread::sleep_for(milliseconds(5));
    }
    return At(last_end_.load());
  }

 private:
  static int64_t Now() { return steady_clock::now().time_since_epoch().count(); }
  static steady_clock::time_point At(int64_t count) {
    return steady_clock::time_point(steady_clock::duration(count));
  }
  static void Work(int64_t rounds) {
    double x = 1;
    for (int64_t i = 0; i < rounds; ++i) benchmark::DoNotOptimize(x = x * 0.999 + 0.001);
  }
  static int64_t Calibrate() {  // Rounds in 1 ms.
    constexpr int64_t kRounds = 1'000'000;
    const auto start = steady_clock::now();
    Work(kRounds);
    return static_cast<int64_t>(kRounds /
                                duration<double, std::milli>(steady_clock::now() - start).count());
  }

  static inline thread_local bool caller_ = false;
  const int64_t rounds_;
  std::atomic<int64_t> first_begin_{0}, last_end_{0};
};

void ResizePeerInRegions(benchmark::State& state, std::unique_ptr<ResizePeer> (*make)(int most),
                         bool grow) {
  constexpr int kTasks = 200;
  const int most = Cores();
  if (most != 2) {
    // With more, "another thread has begun" is not the last one.
    state.SkipWithError("counts one added thread: needs exactly 2 cores (taskset)");
    return;
  }
  const std::unique_ptr<ResizePeer> peer = make(most);
  TaskWatch watch;
  std::atomic<bool> stop{false};
  std::thread computing([&] {
    peer->Compute(
        kTasks, [&] { watch.Task(); }, [&] { watch.SetCaller(); }, [&] { return stop.load(); });
  });
  Random random(1);
  Effects effects;
  for (auto _ : state) {
    peer->Request(grow ? 1 : most);
    if (grow) {
      watch.WaitForSilence();
      SleepAMoment(&random, milliseconds(200));
      watch.Arm();
    } else {
      watch.Arm();
      watch.WaitForBegin();
      SleepAMoment(&random, milliseconds(100));
    }
    const auto request = steady_clock::now();
    peer->Request(grow ? most : 1);
    const auto effect = grow ? watch.WaitForBegin() : watch.WaitForSilence();
    effects.Add(&state, std::max(nanoseconds(0), nanoseconds(effect - request)));
  }
  effects.Print(&state);
  stop = true;
  computing.join();
}

template <typename Function>
void Add(const std::string& name, int iterations, Function function) {
  benchmark::RegisterBenchmark(name.c_str(), function)
      ->Iterations(iterations)
      ->Unit(benchmark::kMicrosecond)
      ->UseManualTime();
}

void Register() {
  const std::vector<std::pair<std::string, MakeProgram>> scenes = {
      {"idle", [](int) { return nullptr; }},
      {"conv3x3_1ms", [](int inter) { return Convolutions(inter, 1, 7); }},
      {"conv3x3_200ms", [](int inter) { return Convolutions(inter, 100, 14); }},
      {"resnet20_training", [](int) { return Resnet20Training(); }},
  };
  Add("limit/futex_wake", 200, WakeOneThread);
  for (const auto& [scene, make] : scenes) {
    for (const int inter : {1, 2}) {
      for (const std::string kind : {"grow", "shrink", "pause", "resume"}) {
        Add("cosched/" + scene + "/inter_" + std::to_string(inter) + "/" + kind, 200,
            [make = make, inter, kind](benchmark::State& state) {
              ResizeSession(state, make, inter, kind);
            });
      }
    }
  }
  for (const int capacity : {2, 8, 32, 128, 256}) {
    const MakeProgram make = [](int inter) { return Convolutions(inter, 100, 14); };
    const std::string name = "capacity/conv3x3_200ms/" + std::to_string(capacity);
    Add(name + "/pause", 200, [make, capacity](benchmark::State& state) {
      ResizeSession(state, make, /*inter=*/1, "pause", /*cores=*/1, capacity);
    });
    Add(name + "/shrink", 200, [make, capacity](benchmark::State& state) {
      ResizeSession(state, make, /*inter=*/2, "shrink", Cores(), capacity);
    });
  }
  for (const bool grow : {true, false}) {
    const std::string kind = grow ? "grow" : "shrink";
    Add("rebuild/resnet20_training/" + kind, 30,
        [grow](benchmark::State& state) { RebuildSession(state, grow); });
    for (const auto& [name, make] :
         {std::pair("cosched", &MakeCoschedPeer), std::pair("openmp", &MakeOpenMpPeer),
          std::pair("onetbb", &MakeOneTbbPeer)}) {
      Add(std::string("same_tasks/") + name + "/" + kind, 60,
          [make = make, grow](benchmark::State& state) { ResizePeerInRegions(state, make, grow); });
    }
  }
}

}  // namespace
}  // namespace cosched

int main(int argc, char** argv) {
  cosched::Register();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
