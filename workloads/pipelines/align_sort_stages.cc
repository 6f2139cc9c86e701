#include "workloads/pipelines/align_sort_stages.h"

#include <algorithm>
#include <exception>
#include <iterator>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/pool/thread_pools.h"
#include "workloads/pipelines/align_sort_payloads.h"

namespace cosched {
namespace {

using JobPointer = AlignSortJobPointer;

// What a thread does between two looks whether it should leave: about two milliseconds of work.
constexpr size_t kReadsToSplit = 1'000;
constexpr size_t kReadsToAlign = 128;
constexpr size_t kReadsToParse = 2'048;
constexpr size_t kBlocksToCompress = 2;
constexpr int64_t kBytesToSpill = 1 << 20;
constexpr size_t kBlocksOfAGroup = 8;  // Merged and written at once.
// The least that is worth a task of a loop.
constexpr size_t kFewestReadsToAlign = 16;
constexpr size_t kFewestReadsToParse = 256;

template <typename T>
T& First(StageCall& call) {
  return call.Batch().items.front().payload.As<T>();
}

// How a piece is cut into tasks. It grows with the helpers that each call has for itself; for workers
// that are idle, which may join or not, it is only cut finer, so that it is no longer where they don't.
// What is made does not depend on it. Without pools the calling thread does all.
struct Tasks {
  size_t size = 1;
  size_t count = 1;
};
Tasks TasksOfAPiece(StageCall& call, size_t a_thread, size_t least) {
  ThreadPools* const pools = call.Pools();
  const Split split = pools == nullptr ? Split{1, 1} : pools->Current();
  const int own = 1 + std::max(0, split.intra - 1) / std::max(1, split.inter);
  const int most = pools == nullptr ? own : std::max(own, pools->FreeThreadsAtANode());
  const size_t whole = a_thread * static_cast<size_t>(own);
  Tasks tasks;
  tasks.size = std::max(least, whole / (2 * static_cast<size_t>(most)));
  tasks.count = std::max<size_t>(1, whole / tasks.size);
  return tasks;
}

// body(0) … body(tasks - 1), on whoever is free. Throws what one of them threw.
template <typename Body>
void ForEachTask(StageCall& call, size_t tasks, const Body& body) {
  if (call.Pools() == nullptr) {
    for (size_t i = 0; i < tasks; ++i) body(i);
    return;
  }
  std::vector<std::exception_ptr> errors(tasks);
  call.Pools()->intra().ParallelFor(static_cast<int>(tasks), [&](int task) {
    try {
      body(static_cast<size_t>(task));
    } catch (...) {
      errors[static_cast<size_t>(task)] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

bool Split(AlignSortCommon& common, StageCall& call, int piece) {
  const JobPointer& job = First<JobPointer>(call);
  if (piece == 0) {
    if (!job->refused.empty()) throw InputError({.key = "out", .problem = job->refused});
    job->reader.emplace(OpenFastq(job->paths, static_cast<size_t>(common.settings.chunk_reads)));
    job->chunk = job->reader->Begin();
    // Hours later would be late for what is wrong with it.
    if (job->out.empty()) {
      job->file.emplace(BamFile::Nameless{job->folder});
    } else {
      job->file.emplace(job->out);
    }
  }
  if (!job->reader->Continue(&job->chunk, kReadsToSplit)) return true;
  ReadChunk chunk = std::exchange(job->chunk, job->reader->Begin());
  const auto reads = static_cast<int64_t>(chunk.Reads());
  // Without any reads there is a chunk too, as the stages below know a request by its items.
  if (reads > 0 || chunk.First() == 0) {
    job->reads += reads;
    common.progress->reads_split += reads;
    call.Emit(PayloadOf(ReadsToAlign{job, std::move(chunk)}));
  }
  if (reads > 0) return true;
  job->reader.reset();
  return false;
}

// Templates with so many reads, from this one on.
size_t EndOfSlice(const ReadChunk& chunk, size_t first, size_t reads) {
  size_t end = first + 1;
  while (end < chunk.Templates() &&
         chunk.EndOfTemplate(end - 1) - chunk.FirstOfTemplate(first) < reads)
    ++end;
  return end;
}

// About as many bytes as the records of these reads have as text; growing would leave holes of all
// sizes in memory.
size_t TextOfReads(const ReadChunk& chunk, size_t first, size_t end) {
  constexpr size_t kWithoutBases = 200;
  size_t bytes = 0;
  for (size_t i = first; i < end; ++i) {
    const SequencedRead read = chunk.Read(i);
    bytes += kWithoutBases + read.name.size() + read.bases.size() + read.qualities.size();
  }
  return bytes;
}

ReadsToAlign::Part AlignSlice(AlignSortCommon& common, const ReadChunk& chunk, size_t first,
                              size_t end) {
  ReadsToAlign::Part part;
  part.sam.reserve(TextOfReads(chunk, chunk.FirstOfTemplate(first), chunk.EndOfTemplate(end - 1)));
  std::unique_ptr<Aligner::Buffer> buffer =
      common.buffers.Take([] { return std::make_unique<Aligner::Buffer>(); });
  for (size_t i = first; i < end; ++i) common.aligner.Align(chunk, i, buffer.get(), &part.sam);
  common.buffers.Return(std::move(buffer));
  const size_t before = chunk.FirstOfTemplate(first);
  part.first = chunk.First() + static_cast<int64_t>(before);
  part.reads = static_cast<int64_t>(chunk.EndOfTemplate(end - 1) - before);
  return part;
}

bool Align(AlignSortCommon& common, StageCall& call, int /*piece*/) {
  auto& from = First<ReadsToAlign>(call);
  std::vector<std::pair<size_t, size_t>> slices;
  const Tasks tasks = TasksOfAPiece(call, kReadsToAlign, kFewestReadsToAlign);
  while (slices.size() < tasks.count && from.next < from.chunk.Templates()) {
    const size_t end = EndOfSlice(from.chunk, from.next, tasks.size);
    slices.emplace_back(std::exchange(from.next, end), end);
  }
  std::vector<ReadsToAlign::Part> parts(slices.size());
  ForEachTask(call, slices.size(), [&](size_t i) {
    parts[i] = AlignSlice(common, from.chunk, slices[i].first, slices[i].second);
  });
  for (const ReadsToAlign::Part& part : parts) common.progress->reads_aligned += part.reads;
  std::ranges::move(parts, std::back_inserter(from.parts));
  if (from.next < from.chunk.Templates()) return true;
  call.Emit(PayloadOf(AlignedReads{from.job, std::move(from.parts)}));
  return false;
}

// Parts with so many reads, from this one on.
size_t EndOfParts(const std::vector<ReadsToAlign::Part>& parts, size_t first, size_t reads) {
  size_t end = first;
  for (int64_t left = static_cast<int64_t>(reads); end < parts.size() && left > 0; ++end)
    left -= parts[end].reads;
  return end;
}

bool Sort(AlignSortCommon& common, StageCall& call, int /*piece*/) {
  auto& from = First<AlignedReads>(call);
  if (from.next == from.parts.size()) {
    from.run.Sort();
    // Runs are kept for long, and memory is counted with room that is not used.
    from.run.bytes.shrink_to_fit();
    from.run.entries.shrink_to_fit();
    call.Emit(PayloadOf(SortedReads{from.job, std::move(from.run)}));
    return false;
  }
  if (from.next == 0) {
    // Records are shorter than their text, and growing would move them, through ever larger holes.
    size_t bytes = 0;
    for (const ReadsToAlign::Part& part : from.parts) bytes += part.sam.size();
    from.run.bytes.reserve(bytes);
  }
  std::vector<std::pair<size_t, size_t>> ranges;
  const Tasks tasks = TasksOfAPiece(call, kReadsToParse, kFewestReadsToParse);
  while (ranges.size() < tasks.count && from.next < from.parts.size()) {
    const size_t end = EndOfParts(from.parts, from.next, tasks.size);
    ranges.emplace_back(std::exchange(from.next, end), end);
  }
  std::vector<RecordRun> runs(ranges.size());
  ForEachTask(call, ranges.size(), [&](size_t i) {
    std::unique_ptr<SamParser> parser =
        common.parsers.Take([&] { return std::make_unique<SamParser>(common.header); });
    for (size_t at = ranges[i].first; at < ranges[i].second; ++at) {
      ReadsToAlign::Part& part = from.parts[at];
      parser->Parse(std::move(part.sam), part.first, part.reads, &runs[i]);
    }
    common.parsers.Return(std::move(parser));
  });
  for (const RecordRun& run : runs) from.run.Append(run);
  return true;
}

bool Collect(AlignSortCommon& common, StageCall& call, int piece) {
  auto& from = First<SortedReads>(call);
  SortedRuns& runs = from.job->runs;
  const bool spills = piece == 0 ? runs.Take(std::move(from.run)) : runs.Spill(kBytesToSpill);
  if (spills) return true;
  const int64_t spilled = runs.SpilledBytes();
  common.progress->spilled_bytes += spilled - std::exchange(from.job->spilled, spilled);
  call.Emit(Payload::Of(from.job, 0));
  return false;
}

bool Merge(AlignSortCommon& common, StageCall& call, int piece) {
  const JobPointer& job = First<JobPointer>(call);
  if (piece == 0) job->blocks.emplace(common.header.BamBytes(), job->runs.Merge());
  BlockGroup group{.job = job, .blocks = {}};
  while (!group.last && group.blocks.size() < kBlocksOfAGroup) {
    std::string block;
    group.last = !job->blocks->Next(&block);
    if (group.last) break;
    group.blocks.push_back(std::move(block));
  }
  const bool more = !group.last;
  if (!more) job->blocks.reset();
  call.Emit(PayloadOf(std::move(group)));
  return more;
}

bool Compress(AlignSortCommon& common, StageCall& call, int /*piece*/) {
  auto& from = First<BlockGroup>(call);
  const size_t first = from.next;
  from.next = std::min(first + TasksOfAPiece(call, kBlocksToCompress, 1).count, from.blocks.size());
  ForEachTask(call, from.next - first, [&](size_t i) {
    std::string& block = from.blocks[first + i];
    block = CompressBlock(block, common.settings.compression);
    block.shrink_to_fit();
  });
  if (from.next < from.blocks.size()) return true;
  call.Emit(PayloadOf(std::move(from)));
  return false;
}

bool Write(AlignSortCommon& /*common*/, StageCall& call, int /*piece*/) {
  const auto& from = First<BlockGroup>(call);
  AlignSortJob& job = *from.job;
  for (const std::string& block : from.blocks) job.file->Write(block);
  if (from.last) call.Emit(Payload::Of(from.job, 0));
  return false;
}

// Of a request whose other calls are all over: until the file has its name, a cancelled one leaves
// none.
bool Publish(AlignSortCommon& common, StageCall& call, int /*piece*/) {
  AlignSortJob& job = *First<JobPointer>(call);
  job.file->Finish();
  const int64_t records = job.runs.Records();
  common.progress->records_written += records;
  call.Emit(Payload::Of(
      AlignSortResult{
          .out = job.out, .reads = job.reads, .records = records, .bytes = job.file->Bytes()},
      0));
  if (call.Cancelled()) job.file->Discard();
  return false;
}

using RunAlignSortPiece = bool (*)(AlignSortCommon&, StageCall&, int);

RunAlignSortPiece PieceOf(AlignSortStage stage) {
  switch (stage) {
    case AlignSortStage::kSplit: return Split;
    case AlignSortStage::kAlign: return Align;
    case AlignSortStage::kSort: return Sort;
    case AlignSortStage::kCollect: return Collect;
    case AlignSortStage::kMerge: return Merge;
    case AlignSortStage::kCompress: return Compress;
    case AlignSortStage::kWrite: return Write;
    case AlignSortStage::kPublish: return Publish;
  }
  return nullptr;
}

}  // namespace

StageFactory MakeAlignSortStage(AlignSortStage stage, std::shared_ptr<AlignSortCommon> common) {
  return [run = PieceOf(stage), common = std::move(common)] {
    return MakeNativeStage(
        [run, common](StageCall& call, int piece) { return run(*common, call, piece); });
  };
}

}  // namespace cosched
