#pragma once
// What a program is, whoever runs it and on however many cores: the network, what it does with
// which images, and by which rules it computes. One description from the experiment file or the
// command line to the kernels: TenantSpec, JobSettings, ServiceSettings and EngineCell are each
// one, with what else they need, and SessionOf is where the engine's settings are taken from it.
// Plain data.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/kernels/kernel_rates.h"
#include "engine/pool/work_record.h"
#include "engine/session/session.h"

namespace cosched {

enum class Mode { kTrain, kInfer };
std::string_view ToString(Mode mode);  // "train", "infer"
bool ParseMode(std::string_view text, Mode* result);

// What images are computed in (engine/graph/bfloat16.h); weights are floats always.
enum class Precision { kFloat, kBFloat16 };
std::string_view ToString(Precision precision);  // "f32", "bf16"
bool ParsePrecision(std::string_view text, Precision* result);
// What is wrong with asking for it on this CPU; "" if nothing is.
std::string PrecisionProblem(Precision precision);

struct ProgramSpec {
  std::string model = "resnet20";
  Mode mode = Mode::kTrain;  // A service's is of no account.
  std::string dataset = "procedural";
  std::string data_directory;  // For mnist and cifar10.
  int batch = 32;              // Images a step; of a service: requests answered at once, at most.
  uint64_t seed = 1;           // Seeds the images' order, and weights that come from no file.
  Precision precision = Precision::kFloat;
  bool deterministic = true;  // See SessionOptions.
  // Each step has the split that AutoSplit finds fastest on the cores of the moment, whatever split
  // else is asked for (workloads/auto_split.h).
  bool auto_split = false;
  KernelRates rates = {};                 // By which its kernels choose.
  std::chrono::nanoseconds spin = kSpin;  // How long a thread without work looks for some.
};

// The options of a session that runs the program: `session`, which says on which threads, with all
// that the program says of them.
SessionOptions SessionOf(const ProgramSpec& program, SessionOptions session);

}  // namespace cosched
