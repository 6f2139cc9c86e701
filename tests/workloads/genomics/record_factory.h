#pragma once
// Runs of records from a seed, for tests of what sorts and writes them.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/random.h"
#include "workloads/genomics/record_merge.h"

namespace cosched {

// A record whose contents are `contents`: its length, then those.
inline std::string EncodedRecord(const std::string& contents) {
  const auto size = static_cast<uint32_t>(contents.size());
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + contents;
}

inline void AddRecord(SortKey key, const std::string& contents, RecordRun* run) {
  run->entries.push_back({key, run->bytes.size()});
  run->bytes += EncodedRecord(contents);
}

// Records of few places, so that many are equal but for their ordinals, which go on from `first`.
inline RecordRun RandomRun(size_t records, uint64_t first, Random* random) {
  RecordRun run;
  for (size_t i = 0; i < records; ++i) {
    const SortKey key{random->Below(50), first + i};
    AddRecord(key,
              std::to_string(key.place) + ":" + std::to_string(key.ordinal) +
                  std::string(random->Below(60), 'x'),
              &run);
  }
  run.Sort();
  return run;
}

inline std::vector<std::string> DrainRecords(RecordMerge merge) {
  std::vector<std::string> records;
  std::string_view record;
  while (merge.Next(&record)) records.emplace_back(record);
  return records;
}

// What sorting everything at once gives.
inline std::vector<std::string> SortedRecords(const std::vector<RecordRun>& runs) {
  RecordRun all;
  for (const RecordRun& run : runs) all.Append(run);
  std::stable_sort(all.entries.begin(), all.entries.end(), [](const auto& a, const auto& b) {
    return a.key.place != b.key.place ? a.key.place < b.key.place : a.key.ordinal < b.key.ordinal;
  });
  std::vector<std::string> records;
  for (const RecordRun::Entry& entry : all.entries) records.emplace_back(all.Record(entry));
  return records;
}

}  // namespace cosched
