#pragma once
// Runs a model file's network on given values, in the file's own layout, by the reference kernels.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/graph/readers/model_file.h"
#include "engine/session/session.h"

namespace cosched {

struct Array {
  std::vector<int64_t> dims;
  std::vector<float> values;
};

// 0.1, 0.2, … with alternating signs and a period that fits no size: told apart wherever they go.
inline std::vector<float> Ramp(int64_t elements, float step = 0.1f) {
  std::vector<float> values;
  for (int64_t i = 0; i < elements; ++i) {
    values.push_back(step * static_cast<float>(i % 23 + 1) * (i % 2 == 0 ? 1.0f : -1.0f));
  }
  return values;
}

inline int64_t ElementCount(const std::vector<int64_t>& dims) { return Shape(dims).Elements(); }

inline Tensor SwapChannels(const Tensor& from, bool to_last) {
  const Shape& s = from.GetShape();
  Tensor result(to_last ? Shape{s[0], s[2], s[3], s[1]} : Shape{s[0], s[3], s[1], s[2]});
  const int64_t channels = to_last ? s[1] : s[3];
  const int64_t pixels = s.Elements() / s[0] / channels;
  for (int64_t n = 0; n < s[0]; ++n) {
    for (int64_t p = 0; p < pixels; ++p) {
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t first = (n * channels + c) * pixels + p;
        const int64_t last = (n * pixels + p) * channels + c;
        result.Floats()[to_last ? last : first] = from.Floats()[to_last ? first : last];
      }
    }
  }
  return result;
}

// Inputs in the file's order; all outputs.
inline std::vector<Array> RunFile(const ModelFile& file, const std::vector<Array>& arrays) {
  Graph graph;
  GraphBuilder builder(&graph);
  const int64_t batch = arrays[0].dims[0];
  const std::vector<ModelFile::Interface> inputs = file.Inputs(batch);
  std::vector<Output> placeholders;
  Feeds feeds;
  for (size_t i = 0; i < inputs.size(); ++i) {
    placeholders.push_back(builder.Placeholder("feed" + std::to_string(i), inputs[i].Ours()));
    const Tensor value = Tensor::Of(Shape(arrays[i].dims), std::span(arrays[i].values));
    feeds.emplace_back("feed" + std::to_string(i),
                       inputs[i].channels_first ? SwapChannels(value, true) : value);
  }
  const auto outputs = file.Build(&builder, placeholders, {.batch = batch});
  graph.Build();
  std::vector<std::string> fetches;
  for (const auto& output : outputs) {
    fetches.push_back(graph.At(output.output.node).name + ":" +
                      std::to_string(output.output.index));
  }
  Session session(graph, {.backend = KernelBackend::kReference});
  const std::vector<Tensor> results = session.Run(feeds, fetches);
  std::vector<Array> arrays_out;
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor value =
        outputs[i].interface.channels_first ? SwapChannels(results[i], false) : results[i];
    arrays_out.push_back(
        {value.GetShape().Sizes(), {value.Floats(), value.Floats() + value.Elements()}});
  }
  return arrays_out;
}

}  // namespace cosched
