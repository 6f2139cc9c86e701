#pragma once
// The tensors of a model file in the layouts that our ops take. A file's own copy is let go when
// its only reader has got another layout, so that a big model is not in memory twice; what was made
// once is shared by all graphs that are built. Used by the importer. Not thread-safe.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/readers/source_model.h"

namespace cosched {

// Reshape to `split`, then transpose by `order`, then reshape to `shape`: what carries the file's
// filters and matrices over to ours.
struct WeightLayout {
  std::vector<int64_t> split;
  std::vector<int64_t> order;
  std::vector<int64_t> shape;

  static WeightLayout AsIs(const std::vector<int64_t>& dims);
  bool MovesElements() const;
  std::string ToString() const;
};

class WeightStore {
 public:
  explicit WeightStore(const SourceModel& model);

  // The constant's elements in this layout; copies are charged. REQUIRES: it is of floats and has
  // some, and the layout has as many.
  Tensor Take(const SourceModel& model, const SourceNode& reader, const ConstantPtr& constant,
              const WeightLayout& layout);

  // Accounts for memory that is made of a file's constants: a few bytes of a file can ask for any
  // amount. Throws InputError naming the node when it is more than the file's own size explains.
  void Charge(const SourceModel& model, const SourceNode& node, int64_t bytes);
  // A build's own constants are gone when the next one begins.
  void BeginBuild() { charged_ = kept_; }

 private:
  std::map<std::string, int> readers_;  // By name of a constant of the file.
  std::map<std::pair<std::string, std::string>, Tensor> made_;  // By name and layout.
  int64_t allowed_ = 0;
  int64_t charged_ = 0;
  int64_t kept_ = 0;  // The part charged for tensors made once for all builds.
};

}  // namespace cosched
