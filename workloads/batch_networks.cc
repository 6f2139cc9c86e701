#include "workloads/batch_networks.h"

#include <algorithm>
#include <utility>

#include "engine/graph/bfloat16.h"
#include "engine/graph/graph_builder.h"
#include "engine/graph/optimizer.h"
#include "workloads/batch_sizes.h"
#include "workloads/weights_file.h"

namespace cosched {

size_t BatchNetworks::For(int requests) const {
  const int padded = PaddedBatch(requests, sizes.back());
  return static_cast<size_t>(std::ranges::find(sizes, padded) - sizes.begin());
}

BatchNetworks MakeBatchNetworks(const ModelInfo& model, const ProgramSpec& program,
                                const BatchNetworkSettings& settings) {
  BatchNetworks networks{.graph = {}, .sizes = BatchSizes(program.batch), .ends = {}};
  Graph plain;
  GraphBuilder builder(&plain);
  NamedTensors weights;
  if (!settings.weights_file.empty()) weights = LoadTensors(settings.weights_file);
  builder.UseValues(&weights);
  std::vector<std::string> fetches;
  for (const int batch : networks.sizes) {
    const std::string name = "images" + std::to_string(batch);
    const Output images =
        builder.Placeholder(name, {batch, model.image[0], model.image[1], model.image[2]});
    const Output logits = model.build(builder, images, /*training=*/false, program.seed);
    fetches.push_back(plain.At(logits.node).name + ":" + std::to_string(logits.index));
    networks.ends.push_back({name, fetches.back()});
  }
  if (!settings.weights_file.empty()) CheckWeights(weights, settings.weights_file, plain);
  OptimizeForInference(plain, fetches, /*variables=*/{}, &networks.graph, settings.slicing);
  if (program.precision == Precision::kBFloat16) {
    const Graph floats = std::exchange(networks.graph, {});
    ConvertToBFloat16(floats, fetches, &networks.graph);
  }
  networks.graph.Build();
  return networks;
}

}  // namespace cosched
