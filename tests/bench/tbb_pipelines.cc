#include "tests/bench/tbb_pipelines.h"

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/gates/stage.h"

namespace cosched {
namespace {

namespace flow = oneapi::tbb::flow;
using oneapi::tbb::filter_mode;
using oneapi::tbb::flow_control;
using oneapi::tbb::make_filter;

enum AlignSortStages { kSplit, kAlign, kSort, kCollect, kMerge, kCompress, kWrite, kPublish };

// A call of a stage on the thread of a peer, which has no pools.
class PeerCall : public StageCall {
 public:
  explicit PeerCall(Payload payload) { batch_.items.push_back({Ordinal(0), std::move(payload)}); }
  ItemBatch& Batch() override { return batch_; }
  void Emit(Payload payload) override { emitted.push_back(std::move(payload)); }
  bool Full() const override { return !emitted.empty(); }
  bool Cancelled() const override { return false; }
  ThreadPools* Pools() override { return nullptr; }
  void AddBusy(std::chrono::nanoseconds) override {}

  std::vector<Payload> emitted;

 private:
  ItemBatch batch_;
};

// What a stage emits, item by item.
class PeerSource {
 public:
  PeerSource(const StageFactory& stage, Payload payload)
      : call_(std::move(payload)), stage_(stage()) {}
  std::optional<Payload> Next() {
    while (call_.emitted.empty() && more_) more_ = stage_->Run(call_);
    if (call_.emitted.empty()) return std::nullopt;
    Payload payload = std::move(call_.emitted.front());
    call_.emitted.clear();
    return payload;
  }

 private:
  PeerCall call_;
  std::unique_ptr<Stage> stage_;
  bool more_ = true;
};

// Empty where the stage emits nothing.
Payload Apply(const PipelineProgram& program, AlignSortStages stage, Payload payload) {
  return PeerSource(program.stages[stage], std::move(payload)).Next().value_or(Payload());
}

// The last one gives the file its name, too.
void WriteGroup(const PipelineProgram& program, Payload group) {
  const std::optional<Payload> last = PeerSource(program.stages[kWrite], std::move(group)).Next();
  if (last) Apply(program, kPublish, *last);
}

Payload AddOne(Payload item) {
  ++item.As<int64_t>();
  return item;
}

struct NumberedPayload {
  size_t number = 0;
  Payload payload = {};
};

using Node = flow::function_node<NumberedPayload, NumberedPayload>;
using Last = flow::function_node<NumberedPayload, flow::continue_msg>;

}  // namespace

void AlignSortByTbbPipeline(const PipelineProgram& program, int64_t request, size_t tokens) {
  const auto from = [](PeerSource* source) {
    return make_filter<void, Payload>(filter_mode::serial_in_order,
                                      [source](flow_control& control) {
                                        std::optional<Payload> next = source->Next();
                                        if (!next) control.stop();
                                        return next.value_or(Payload());
                                      });
  };
  const auto through = [&](AlignSortStages stage, filter_mode mode) {
    return make_filter<Payload, Payload>(mode, [&program, stage](Payload payload) {
      return Apply(program, stage, std::move(payload));
    });
  };
  PeerSource chunks(program.stages[kSplit], program.items(request, 1).front());
  Payload collected;
  oneapi::tbb::parallel_pipeline(
      tokens, from(&chunks) & through(kAlign, filter_mode::parallel) &
                  through(kSort, filter_mode::parallel) &
                  make_filter<Payload, void>(filter_mode::serial_out_of_order, [&](Payload run) {
                    collected = Apply(program, kCollect, std::move(run));
                  }));
  PeerSource groups(program.stages[kMerge], collected);
  oneapi::tbb::parallel_pipeline(
      tokens, from(&groups) & through(kCompress, filter_mode::parallel) &
                  make_filter<Payload, void>(filter_mode::serial_in_order, [&](Payload group) {
                    WriteGroup(program, std::move(group));
                  }));
}

void AlignSortByTbbFlowGraph(const PipelineProgram& program, int64_t request, size_t tokens) {
  const auto from = [](PeerSource* source) {
    return [source, number = size_t{0}](flow_control& control) mutable {
      std::optional<Payload> next = source->Next();
      if (!next) control.stop();
      return NumberedPayload{number++, next.value_or(Payload())};
    };
  };
  const auto through = [&](AlignSortStages stage) {
    return [&program, stage](NumberedPayload item) {
      return NumberedPayload{item.number, Apply(program, stage, std::move(item.payload))};
    };
  };
  Payload collected;
  {
    PeerSource chunks(program.stages[kSplit], program.items(request, 1).front());
    flow::graph graph;
    flow::input_node<NumberedPayload> split(graph, from(&chunks));
    flow::limiter_node<NumberedPayload> limiter(graph, tokens);
    Node align(graph, flow::unlimited, through(kAlign)),
        sort(graph, flow::unlimited, through(kSort));
    Last collect(graph, flow::serial, [&](NumberedPayload item) {
      collected = Apply(program, kCollect, std::move(item.payload));
      return flow::continue_msg();
    });
    flow::make_edge(split, limiter);
    flow::make_edge(limiter, align);
    flow::make_edge(align, sort);
    flow::make_edge(sort, collect);
    flow::make_edge(collect, limiter.decrementer());
    split.activate();
    graph.wait_for_all();
  }
  PeerSource groups(program.stages[kMerge], collected);
  flow::graph graph;
  flow::input_node<NumberedPayload> merge(graph, from(&groups));
  flow::limiter_node<NumberedPayload> limiter(graph, tokens);
  Node compress(graph, flow::unlimited, through(kCompress));
  flow::sequencer_node<NumberedPayload> order(
      graph, [](const NumberedPayload& item) { return item.number; });
  Last write(graph, flow::serial, [&](NumberedPayload item) {
    WriteGroup(program, std::move(item.payload));
    return flow::continue_msg();
  });
  flow::make_edge(merge, limiter);
  flow::make_edge(limiter, compress);
  flow::make_edge(compress, order);
  flow::make_edge(order, write);
  flow::make_edge(write, limiter.decrementer());
  merge.activate();
  graph.wait_for_all();
}

int64_t AddByTbbPipeline(int stages, std::vector<Payload> items, size_t tokens) {
  size_t next = 0;
  std::atomic<int64_t> sum = 0;
  oneapi::tbb::filter<void, Payload> chain =
      make_filter<void, Payload>(filter_mode::serial_in_order, [&](flow_control& control) {
        if (next < items.size()) return std::move(items[next++]);
        control.stop();
        return Payload();
      });
  for (int stage = 0; stage < stages; ++stage) {
    chain = chain & make_filter<Payload, Payload>(filter_mode::parallel, &AddOne);
  }
  oneapi::tbb::parallel_pipeline(
      tokens, chain & make_filter<Payload, void>(filter_mode::parallel, [&](const Payload& item) {
                sum += item.As<int64_t>();
              }));
  return sum;
}

int64_t AddByTbbFlowGraph(int stages, std::vector<Payload> items, size_t tokens) {
  using Adds = flow::function_node<Payload, Payload>;
  size_t next = 0;
  std::atomic<int64_t> sum = 0;
  flow::graph graph;
  flow::input_node<Payload> source(graph, [&](flow_control& control) {
    if (next < items.size()) return std::move(items[next++]);
    control.stop();
    return Payload();
  });
  flow::limiter_node<Payload> limiter(graph, tokens);
  flow::function_node<Payload, flow::continue_msg> leave(graph, flow::unlimited,
                                                         [&](const Payload& item) {
                                                           sum += item.As<int64_t>();
                                                           return flow::continue_msg();
                                                         });
  std::list<Adds> adds;
  flow::sender<Payload>* last = &limiter;
  for (int stage = 0; stage < stages; ++stage) {
    adds.emplace_back(graph, flow::unlimited, AddOne);
    flow::make_edge(*last, adds.back());
    last = &adds.back();
  }
  flow::make_edge(source, limiter);
  flow::make_edge(*last, leave);
  flow::make_edge(leave, limiter.decrementer());
  source.activate();
  graph.wait_for_all();
  return sum;
}

void RequestsByTbb(size_t threads, size_t open, int64_t requests,
                   const std::function<void(int64_t)>& run) {
  const oneapi::tbb::global_control limit(oneapi::tbb::global_control::max_allowed_parallelism,
                                          threads);
  int64_t next = 0;
  oneapi::tbb::parallel_pipeline(
      open, make_filter<void, int64_t>(filter_mode::serial_in_order, [&](flow_control& control) {
              if (next == requests) control.stop();
              return next++;
            }) & make_filter<int64_t, void>(filter_mode::parallel, [&](int64_t request) {
              run(request);
            }));
}

}  // namespace cosched
