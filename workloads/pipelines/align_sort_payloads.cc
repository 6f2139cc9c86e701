#include "workloads/pipelines/align_sort_payloads.h"

#include <functional>
#include <string_view>
#include <utility>

#include "engine/gates/packed_bytes.h"

namespace cosched {
namespace {

void PackReads(const ReadsToAlign& reads, PackedWriter* writer) {
  const ReadChunk& chunk = reads.chunk;
  writer->Reserve(chunk.Bytes() + chunk.Reads() * 32);
  writer->Number(chunk.First());
  writer->Count(chunk.Reads());
  for (size_t i = 0; i < chunk.Reads(); ++i) {
    const SequencedRead read = chunk.Read(i);
    writer->Text(read.name);
    writer->Text(read.bases);
    writer->Text(read.qualities);
  }
}

ReadsToAlign UnpackReads(PackedReader* reader) {
  constexpr size_t kLeast = 3 * sizeof(uint64_t);
  ReadChunk chunk(reader->Number<int64_t>());
  const size_t reads = reader->Count(kLeast);
  for (size_t i = 0; i < reads; ++i) {
    SequencedRead read;
    read.name = reader->Text();
    read.bases = reader->Text();
    read.qualities = reader->Text();
    if (read.bases.size() != read.qualities.size())
      throw MalformedBytes("a read with other numbers of bases and of qualities");
    chunk.Add(read);
  }
  return {.job = nullptr, .chunk = std::move(chunk)};
}

void PackAligned(const AlignedReads& reads, PackedWriter* writer) {
  writer->Count(reads.parts.size());
  for (const ReadsToAlign::Part& part : reads.parts) {
    writer->Number(part.first);
    writer->Number(part.reads);
    writer->Text(part.sam);
  }
}

AlignedReads UnpackAligned(PackedReader* reader) {
  AlignedReads reads;
  reads.parts.resize(reader->Count(3 * sizeof(uint64_t)));
  for (ReadsToAlign::Part& part : reads.parts) {
    part.first = reader->Number<int64_t>();
    part.reads = reader->Number<int64_t>();
    part.sam = reader->Text();
  }
  return reads;
}

void PackSorted(const SortedReads& reads, PackedWriter* writer) {
  writer->Reserve(reads.run.bytes.size() + reads.run.entries.size() * 24 + 16);
  writer->Count(reads.run.entries.size());
  for (const RecordRun::Entry& entry : reads.run.entries) {
    writer->Number(entry.key.place);
    writer->Number(entry.key.ordinal);
    writer->Number(entry.offset);
  }
  writer->Text(reads.run.bytes);
}

bool HoldsRecord(const std::string& bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < kRecordLengthBytes) return false;
  return RecordBytes(bytes.data() + offset) <= bytes.size() - offset;
}

SortedReads UnpackSorted(PackedReader* reader) {
  SortedReads reads;
  reads.run.entries.resize(reader->Count(3 * sizeof(uint64_t)));
  for (RecordRun::Entry& entry : reads.run.entries) {
    entry.key.place = reader->Number<uint64_t>();
    entry.key.ordinal = reader->Number<uint64_t>();
    entry.offset = reader->Number<uint64_t>();
  }
  reads.run.bytes = reader->Text();
  for (const RecordRun::Entry& entry : reads.run.entries) {
    if (!HoldsRecord(reads.run.bytes, entry.offset))
      throw MalformedBytes("a record that is not there");
  }
  return reads;
}

void PackBlocks(const BlockGroup& group, PackedWriter* writer) {
  writer->Number(static_cast<uint8_t>(group.last ? 1 : 0));
  writer->Count(group.blocks.size());
  for (const std::string& block : group.blocks) writer->Text(block);
}

BlockGroup UnpackBlocks(PackedReader* reader) {
  BlockGroup group;
  group.last = reader->Number<uint8_t>() != 0;
  group.blocks.resize(reader->Count(sizeof(uint64_t)));
  for (std::string& block : group.blocks) block = reader->Text();
  return group;
}

// Its job does not travel: it is that of the From that the call took.
template <typename T, typename From>
PayloadCodec CodecOf(void (*pack)(const T&, PackedWriter*), T (*unpack)(PackedReader*),
                     std::function<void(const T&)> came_back = {}) {
  return {.encode =
              [pack](const Payload& payload) {
                PackedWriter writer;
                pack(payload.As<T>(), &writer);
                return writer.Take();
              },
          .decode =
              [unpack, came_back = std::move(came_back)](std::string_view bytes,
                                                         const Payload* origin) {
                PackedReader reader(bytes);
                T value = unpack(&reader);
                reader.End();
                if (origin != nullptr) {
                  value.job = origin->As<From>().job;
                  if (came_back) came_back(value);
                }
                return PayloadOf(std::move(value));
              }};
}

int64_t CapacityOf(const std::vector<std::string>& texts) {
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.capacity();
  return static_cast<int64_t>(bytes);
}

}  // namespace

Payload PayloadOf(ReadsToAlign reads) {
  const auto bytes = static_cast<int64_t>(reads.chunk.Memory());
  return Payload::Of(std::move(reads), bytes);
}

Payload PayloadOf(AlignedReads reads) {
  int64_t bytes = 0;
  for (const ReadsToAlign::Part& part : reads.parts) {
    bytes += static_cast<int64_t>(part.sam.capacity() + sizeof part);
  }
  return Payload::Of(std::move(reads), bytes);
}

Payload PayloadOf(SortedReads reads) {
  const int64_t bytes = reads.run.Memory();
  return Payload::Of(std::move(reads), bytes);
}

Payload PayloadOf(BlockGroup group) {
  const int64_t bytes = CapacityOf(group.blocks);
  return Payload::Of(std::move(group), bytes);
}

std::optional<StageTravel> AlignSortTravel(AlignSortStage stage,
                                           const std::shared_ptr<AlignSortCommon>& common) {
  const PayloadCodec reads = CodecOf<ReadsToAlign, ReadsToAlign>(PackReads, UnpackReads);
  const PayloadCodec aligned = CodecOf<AlignedReads, ReadsToAlign>(
      PackAligned, UnpackAligned, [common](const AlignedReads& back) {
        for (const ReadsToAlign::Part& part : back.parts) {
          common->progress->reads_aligned += part.reads;
        }
      });
  const PayloadCodec sorted = CodecOf<SortedReads, AlignedReads>(PackSorted, UnpackSorted);
  const PayloadCodec blocks = CodecOf<BlockGroup, BlockGroup>(PackBlocks, UnpackBlocks);
  switch (stage) {
    case AlignSortStage::kAlign: return StageTravel{reads, aligned};
    case AlignSortStage::kSort: return StageTravel{aligned, sorted};
    case AlignSortStage::kCompress: return StageTravel{blocks, blocks};
    // What the others have is open files and sorted runs.
    case AlignSortStage::kSplit:
    case AlignSortStage::kCollect:
    case AlignSortStage::kMerge:
    case AlignSortStage::kWrite:
    case AlignSortStage::kPublish: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace cosched
