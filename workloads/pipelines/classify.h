#pragma once
// Images to the classes that a network sees in them: read the file, decode it (JPEG, PNG), scale and
// normalise it, run the network in parts, and rank the classes. What Whitlock et al. (Pipelined
// TensorFlow) name as a use of gates; the network is cut where one tensor leads on
// (engine/graph/partition.h). A request is some images; those of a request are gathered to batches,
// by their order, so what is computed depends on no timing. Called where programs are made, on any
// thread.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "workloads/pipelines/pipeline_program.h"

namespace cosched {

inline constexpr const char* kClassifyName = "classify";
// The most that settings may say.
inline constexpr int kMostClassifyParts = 1000;  // Of any network.
inline constexpr int64_t kMostClassifyItems = 1'000'000;
inline constexpr int kMostClassifyBatch = 65536;

// Written by the stages, read by whoever shows them; of all requests together.
struct ClassifyProgress {
  std::atomic<int64_t> images_decoded{0};
  std::atomic<int64_t> images_classified{0};
};

struct ClassifySettings {
  std::string model = {};  // As OpenModel takes it; one that tells of images, not of pixels.
  // Of the network, of about equal cost. Two are the fewest between which something is handed on.
  // More make nothing faster: they show, and let a policy steer, where in the network the time
  // goes.
  int parts = 2;
  // A folder, whose files are taken by name, and from the first again behind the last. "": images
  // that are made here, and encoded.
  std::string images = {};
  int64_t items = 8;              // Images of a request.
  int batch = 4;                  // Images that the network computes at once, at most.
  uint64_t seed = 1;              // Of weights that come from no file, and of images that are made.
  std::string weights_file = {};  // See workloads/weights_file.h; "": none.
  OpenRequests open = {};
  int threads = 1;  // The most calls that will compute side by side; gates have room for these.
  std::shared_ptr<ClassifyProgress> progress = {};  // May be null.
};

struct RankedClass {
  int index = 0;  // Of the network's scores.
  float probability = 0;
};
using RankedClasses = std::vector<RankedClass>;  // The likeliest first: five, if there are so many.

int64_t ClassifyItems(const ClassifySettings& settings, double work);

// The stages of it: no model is opened, no file read. Throws InputError as MakeClassify does for
// settings that can't be, and where this build lacks the libraries.
PipelineSpec ClassifySpec(const ClassifySettings& settings);

// What else MakeClassify throws, in a fraction of its time; weights files it does not read.
void CheckClassify(const ClassifySettings& settings);

struct ClassifyProgram {
  PipelineProgram program;
  std::vector<std::string> images;  // Names: request n has those from n x items on, and over again.
};

// Builds the network, cuts it and lists the images, or makes them: once for all requests. `session`
// says what program_spec.h's SessionOf does. Throws InputError for settings that can't be, more
// parts than there can be, a model, folder or file that is none, and where this build lacks the
// libraries.
ClassifyProgram MakeClassify(const ClassifySettings& settings, const SessionOptions& session = {});

// What an answer says: of each image of the request, in order.
std::vector<RankedClasses> ClassesOf(const std::vector<Payload>& answer);

}  // namespace cosched
