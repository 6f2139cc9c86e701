#include "engine/gates/graph_stage.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/graph/fetch.h"

namespace cosched {
namespace {

// The part's network of one batch size.
struct SizedNetwork {
  NetworkEnds ends;
  OutputInfo input;
  int64_t rows = 0;              // The batch size.
  int64_t results_of_a_row = 1;  // More than one where a network tells of each pixel.
  Tensor padded = {};            // What is fed, once it is needed; rows of padding keep old values.
};

SizedNetwork SizedOf(const Graph& graph, const NetworkEnds& ends) {
  SizedNetwork network;
  network.ends = ends;
  network.input = graph.Info({graph.Find(ends.input), 0});
  CHECK(network.input.shape.Rank() > 0) << ends.input << " has no rows";
  network.rows = network.input.shape[0];
  const Shape& result = graph.Info(ParseFetch(graph, ends.fetch)).shape;
  if (result.Rank() == 0 || result[0] % network.rows != 0) {
    throw InputError({.key = "fetch \"" + ends.fetch + "\"",
                      .problem = "its shape is " + result.ToString(),
                      .allowed = "one whose first dimension is a multiple of " +
                                 std::to_string(network.rows) + ", the batch"});
  }
  network.results_of_a_row = result[0] / network.rows;
  return network;
}

Shape WithRows(const Shape& shape, int64_t rows) {
  std::vector<int64_t> sizes = shape.Sizes();
  sizes[0] = rows;
  return Shape(std::move(sizes));
}

size_t RowBytes(const Tensor& tensor) {
  return tensor.Bytes() / static_cast<size_t>(tensor.GetShape()[0]);
}

class GraphStage : public Stage {
 public:
  GraphStage(std::shared_ptr<const GraphPart> part, const SessionOptions& options, GraphEmits emits)
      : part_(std::move(part)), options_(options), emits_(emits) {
    CHECK(!part_->networks.empty()) << "a part of no network";
    for (const NetworkEnds& ends : part_->networks) {
      networks_.push_back(SizedOf(part_->graph, ends));
    }
    CHECK(std::ranges::adjacent_find(networks_, std::greater_equal(), &SizedNetwork::rows) ==
          networks_.end())
        << "batch sizes that do not ascend";
  }

  bool Run(StageCall& call) override {
    // Of what threw before, nothing is gone on with.
    size_t next = std::exchange(next_, 0);
    const std::span<Item> items(call.Batch().items);
    while (next < items.size() && !call.Full()) {
      if (call.Cancelled()) return false;
      next += RunSome(call, items.subspan(next));
    }
    if (next == items.size()) return false;
    next_ = next;
    return true;
  }

 private:
  // Takes the first of these items, and says how many.
  size_t RunSome(StageCall& call, std::span<const Item> items) {
    std::vector<Tensor> inputs;
    int64_t rows = 0;
    for (const Item& item : items) {
      const auto& tensor = item.payload.As<Tensor>();
      CheckItem(tensor);
      if (rows + tensor.GetShape()[0] > networks_.back().rows) break;
      rows += tensor.GetShape()[0];
      inputs.push_back(tensor);
    }
    SizedNetwork& network = *std::ranges::find_if(
        networks_, [rows](const SizedNetwork& other) { return other.rows >= rows; });
    Emit(call, network, inputs, Compute(call, network, inputs), rows);
    return inputs.size();
  }

  void CheckItem(const Tensor& tensor) const {
    const OutputInfo& allowed = networks_.back().input;
    const Shape& shape = tensor.GetShape();
    if (!tensor.IsEmpty() && tensor.Type() == allowed.type && shape.Rank() > 0 && shape[0] >= 1 &&
        shape[0] <= allowed.shape[0] && WithRows(allowed.shape, shape[0]) == shape) {
      return;
    }
    throw InputError(
        {.key = "input \"" + networks_.back().ends.input + "\"",
         .problem = "an item is " + (tensor.IsEmpty() ? "an empty tensor"
                                                      : NameOf(tensor.Type()) + shape.ToString()),
         .allowed = NameOf(allowed.type) + allowed.shape.ToString() +
                    ", or fewer in the first dimension"});
  }

  Tensor Compute(StageCall& call, SizedNetwork& network, std::span<const Tensor> inputs) {
    const bool as_it_is = inputs.size() == 1 && inputs[0].GetShape() == network.input.shape;
    const Tensor fed = as_it_is ? inputs[0] : Padded(network, inputs);
    Session& session = SessionOn(call.Pools());
    const auto begin = std::chrono::steady_clock::now();
    Tensor result = session.Run({{network.ends.input, fed}}, {network.ends.fetch})[0];
    call.AddBusy(std::chrono::steady_clock::now() - begin);
    return result;
  }

  static Tensor Padded(SizedNetwork& network, std::span<const Tensor> inputs) {
    if (network.padded.IsEmpty()) {
      network.padded = Tensor(network.input.shape, network.input.type);
      std::memset(network.padded.Data(), 0, network.padded.Bytes());
    }
    auto* to = static_cast<char*>(network.padded.Data());
    for (const Tensor& input : inputs) {
      std::memcpy(to, input.Data(), input.Bytes());
      to += input.Bytes();
    }
    return network.padded;
  }

  void Emit(StageCall& call, const SizedNetwork& network, std::span<const Tensor> inputs,
            const Tensor& result, int64_t rows) {
    const int64_t each = network.results_of_a_row;
    if (emits_ == GraphEmits::kRuns || inputs.size() == 1) {
      // Its buffer has the padding, too.
      const auto bytes = static_cast<int64_t>(result.Bytes());
      call.Emit(Payload::Of(result.Prefix(WithRows(result.GetShape(), rows * each), result.Type()),
                            bytes));
      return;
    }
    const auto* from = static_cast<const char*>(result.Data());
    for (const Tensor& input : inputs) {
      const int64_t results = input.GetShape()[0] * each;
      Tensor item(WithRows(result.GetShape(), results), result.Type());
      std::memcpy(item.Data(), from, static_cast<size_t>(results) * RowBytes(result));
      from += item.Bytes();
      const auto bytes = static_cast<int64_t>(item.Bytes());
      call.Emit(Payload::Of(std::move(item), bytes));
    }
  }

  Session& SessionOn(ThreadPools* pools) {
    CHECK(pools != nullptr) << "a stage that computes a network has the lanes of those that wait";
    if (!session_) {
      SessionOptions options = options_;
      options.pools = pools;
      session_.emplace(part_->graph, options);
    }
    return *session_;
  }

  const std::shared_ptr<const GraphPart> part_;
  const SessionOptions options_;
  const GraphEmits emits_;
  std::vector<SizedNetwork> networks_;
  size_t next_ = 0;  // Item of a call that is to go on.
  std::optional<Session> session_;
};

}  // namespace

std::unique_ptr<Stage> MakeGraphStage(std::shared_ptr<const GraphPart> part,
                                      const SessionOptions& session, GraphEmits emits) {
  return std::make_unique<GraphStage>(std::move(part), session, emits);
}

}  // namespace cosched
