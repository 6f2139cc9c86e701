#pragma once
// What the stages of align-sort do with a batch (align_sort.h has the pipeline). All that belongs to a
// request lies in its job, which its payloads share: when the last of them is dropped, whatever the
// reason, its files go with it. Stages keep nothing between two calls.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/gates/payload_codec.h"
#include "engine/gates/stage.h"
#include "workloads/genomics/aligner.h"
#include "workloads/genomics/bam_writer.h"
#include "workloads/genomics/fastq.h"
#include "workloads/genomics/sam_records.h"
#include "workloads/genomics/sorted_runs.h"
#include "workloads/pipelines/align_sort.h"

namespace cosched {

// Objects that one caller at a time works with, kept for the next one: as many as were ever in use
// at once. Thread-safe.
template <typename T>
class SpareObjects {
 public:
  template <typename Make>
  std::unique_ptr<T> Take(const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      if (!spare_.empty()) {
        std::unique_ptr<T> object = std::move(spare_.back());
        spare_.pop_back();
        return object;
      }
    }
    return make();
  }
  void Return(std::unique_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(object));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> spare_;
};

// What all requests share.
struct AlignSortCommon {
  explicit AlignSortCommon(const AlignSortSettings& given);

  const AlignSortSettings settings;
  const Aligner aligner;
  const SamHeader header;
  const std::shared_ptr<AlignSortProgress> progress;
  SpareObjects<Aligner::Buffer> buffers;
  SpareObjects<SamParser> parsers;
};

// One request. Each member is of one stage, or of one after another.
struct AlignSortJob {
  // `memory_mib` and `spills`: of SortedRuns.
  AlignSortJob(std::vector<std::string> reads, std::string bam, int64_t memory_mib,
               const std::string& spills)
      : paths(std::move(reads)), out(std::move(bam)), folder(spills), runs(memory_mib, spills) {}

  const std::vector<std::string> paths;
  const std::string out;     // "": a file without a name …
  const std::string folder;  // … here, where runs are spilled, too.
  std::string refused;       // Why it can't be done.
  std::optional<FastqReader> reader;
  ReadChunk chunk;  // Being read.
  int64_t reads = 0;
  SortedRuns runs;
  int64_t spilled = 0;  // Told to the progress.
  std::optional<BamBlocks> blocks;
  std::optional<BamFile> file;
};
using AlignSortJobPointer = std::shared_ptr<AlignSortJob>;

// The stages, in order; each call is of one request. A payload is a job at the ingress.
enum class AlignSortStage { kSplit, kAlign, kSort, kCollect, kMerge, kCompress, kWrite, kPublish };
StageFactory MakeAlignSortStage(AlignSortStage stage, std::shared_ptr<AlignSortCommon> common);
// How its calls go to another rank, where they can: a payload goes without its job, which stays with
// its files on rank 0.
std::optional<StageTravel> AlignSortTravel(AlignSortStage stage,
                                           const std::shared_ptr<AlignSortCommon>& common);

}  // namespace cosched
