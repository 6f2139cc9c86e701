#pragma once
// What the stages of classify do with a batch, but for those of the network, which are
// MakeGraphStage's (classify.h has the pipeline). Stages keep nothing between two calls.

#include <memory>
#include <string>
#include <vector>

#include "engine/gates/stage.h"
#include "engine/graph/shape.h"
#include "workloads/pipelines/classify.h"

namespace cosched {

// An image as it lies in a file: in one, or in memory already.
struct ImageSource {
  std::string name;                          // The file's path.
  std::shared_ptr<const std::string> bytes;  // Null: to be read.
};

// What all requests share.
struct ClassifyCommon {
  std::vector<ImageSource> sources;
  Shape image;  // {height, width, channels} of what the network takes.
  std::shared_ptr<ClassifyProgress> progress;
};

// In order, the network between the last two. A payload is an ImageSource at the ingress, a Tensor
// of one image before the network, one of a batch's scores behind it, and RankedClasses of each
// image of the batch at the egress.
enum class ClassifyStage { kRead, kDecode, kPreprocess, kRank };
StageFactory MakeClassifyStage(ClassifyStage stage, std::shared_ptr<ClassifyCommon> common);

// JPEG, and every fourth a PNG, of the size that a photograph on the web has.
std::vector<ImageSource> MakeImages(uint64_t seed);

// The likeliest of so many scores: softmax, five at most; of equal ones the lower index first.
RankedClasses RankClasses(const float* scores, int64_t classes);

}  // namespace cosched
