#include "experiments/os/thread_runtime.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace cosched {
namespace {

using Default = ThreadRuntime::Default;

const std::vector<ThreadRuntime>& Known() {
  static const std::vector<ThreadRuntime> known = {
      {"libtorch_cpu",
       "PyTorch",
       {"OMP_NUM_THREADS", "MKL_NUM_THREADS"},
       "torch.set_num_threads(N)",
       Default::kAffinity},
      {"onnxruntime",
       "ONNX Runtime",
       {"ORT_INTRA_OP_NUM_THREADS"},
       "intra_op_num_threads of the session's options (versions before July 2026 read no variable)",
       Default::kMachine},
      {"libtensorflow",
       "TensorFlow",
       {"TF_NUM_INTRAOP_THREADS"},
       "tf.config.threading.set_intra_op_parallelism_threads(N)",
       Default::kAffinity},
      {"libgomp",
       "OpenMP of GCC",
       {"OMP_NUM_THREADS"},
       "omp_set_num_threads(N)",
       Default::kAffinity},
      {"libiomp5",
       "OpenMP of Intel",
       {"OMP_NUM_THREADS"},
       "omp_set_num_threads(N)",
       Default::kAffinity},
      {"libomp.",
       "OpenMP of LLVM",
       {"OMP_NUM_THREADS"},
       "omp_set_num_threads(N)",
       Default::kAffinity},
      {"libomp5.",
       "OpenMP of LLVM",
       {"OMP_NUM_THREADS"},
       "omp_set_num_threads(N)",
       Default::kAffinity},
      {"openblas",
       "OpenBLAS",
       {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"},
       "openblas_set_num_threads(N)",
       Default::kAffinity},
      {"libblis",
       "BLIS",
       {"BLIS_NUM_THREADS", "OMP_NUM_THREADS"},
       "bli_thread_set_num_threads(N)",
       Default::kOne},
      {"libmkl_core",
       "MKL",
       {"MKL_NUM_THREADS", "OMP_NUM_THREADS"},
       "mkl_set_num_threads(N)",
       Default::kAffinity},
      {"libtbb.", "oneTBB", {}, "tbb::global_control", Default::kAffinity},
      {"libjvm", "the Java virtual machine", {}, "-XX:ActiveProcessorCount=N", Default::kQuota},
  };
  return known;
}

std::string_view FileName(std::string_view line) {
  const size_t slash = line.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : line.substr(slash + 1);
}

// The next part of a text that ends with `end`, which is taken off it.
std::string_view Take(std::string_view* text, char end) {
  const size_t length = text->find(end);
  const std::string_view part = text->substr(0, length);
  text->remove_prefix(length == std::string_view::npos ? text->size() : length + 1);
  return part;
}

}  // namespace

std::vector<const ThreadRuntime*> RuntimesOf(std::string_view maps) {
  std::vector<bool> mapped(Known().size());
  while (!maps.empty()) {
    const std::string_view file = FileName(Take(&maps, '\n'));
    for (size_t i = 0; i < mapped.size() && !file.empty(); ++i)
      mapped[i] = mapped[i] || file.find(Known()[i].library) != std::string_view::npos;
  }
  std::vector<const ThreadRuntime*> runtimes;
  for (size_t i = 0; i < mapped.size(); ++i)
    if (mapped[i]) runtimes.push_back(&Known()[i]);
  return runtimes;
}

std::map<std::string, std::string> ParseEnvironment(std::string_view bytes) {
  std::map<std::string, std::string> environment;
  while (!bytes.empty()) {
    std::string_view value = Take(&bytes, '\0');
    const std::string_view name = Take(&value, '=');
    environment.emplace(name, value);
  }
  return environment;
}

std::vector<std::string_view> ThreadVariables() {
  std::vector<std::string_view> variables;
  for (const ThreadRuntime& runtime : Known()) {
    for (const std::string_view variable : runtime.variables) {
      if (std::find(variables.begin(), variables.end(), variable) == variables.end())
        variables.push_back(variable);
    }
  }
  return variables;
}

ThreadBelief BeliefOf(const ThreadRuntime& runtime,
                      const std::map<std::string, std::string>& environment, int allowed, int quota,
                      int machine) {
  for (const std::string_view variable : runtime.variables) {
    const auto set = environment.find(std::string(variable));
    if (set == environment.end()) continue;
    // "4,2": a number for each level of nesting.
    int threads = 0;
    std::from_chars(set->second.data(), set->second.data() + set->second.size(), threads);
    if (threads > 0) return {threads, set->first + "=" + set->second};
  }
  switch (runtime.without) {
    case Default::kAffinity: return {allowed, "its cpuset at the start, no quota"};
    case Default::kMachine: return {machine, "the machine's cores, neither cpuset nor quota"};
    case Default::kQuota: return {std::min(allowed, quota), "its cpuset and quota"};
    case Default::kOne: return {1, "one unless it is told"};
  }
  return {};
}

}  // namespace cosched
