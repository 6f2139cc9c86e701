// No network at all: an image's two pixels are its scores, so that a request costs nothing but its
// way to the service and back. What remains is what everything around a model costs.

#include "engine/graph/graph_builder.h"

namespace cosched {

Output BuildEmpty(GraphBuilder& builder, Output images, bool, uint64_t) {
  return builder.Reshape(images, {builder.graph().Info(images).shape[0], 2});
}

}  // namespace cosched
