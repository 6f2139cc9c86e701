#pragma once
// Reads the records of one cell as they grow, each row once, into its CellStory. A cell that is over
// is read in one go. Used by `cosched watch` on one thread.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "experiments/records/cell_file.h"
#include "experiments/records/table.h"
#include "experiments/watch/cell_story.h"

namespace cosched {

// Of a folder that was made anew, the number may be the old one's, but never the time.
struct FolderId {
  uint64_t number = 0;
  int64_t made_ns = 0;
  bool operator==(const FolderId&) const = default;
};

class CellFollower {
 public:
  // runs: it is being recorded in its ".partial" folder; `run` is that of its point, if it has one.
  CellFollower(std::filesystem::path run, CellKey key, bool runs);

  // Takes in what has been written since; from the start where the cell is run anew.
  void Refresh();

  const CellKey& key() const { return key_; }
  const std::filesystem::path& run() const { return run_; }
  const CellStory& Story() const { return story_; }
  // Once it is over, what became of it.
  const std::optional<CellFile>& File() const { return file_; }
  // Why something is not shown: "" = nothing is missing.
  std::string Problem() const;

 private:
  template <typename Row>
  struct Table {
    std::unique_ptr<RowReader<Row>> reader = {};
    bool given_up = false;  // It can't be read.
  };

  struct Tables {
    Table<GrantRow> grants;
    Table<SubmittedRow> submitted;
    Table<SampleRow> samples;
    Table<DecisionRow> decisions;
    Table<RequestRow> requests;
    Table<QueueRow> queues;
    Table<JobRow> jobs;
  };

  template <typename Row, typename... Members>
  void Read(Table<Row>* table, Members... wanted);
  void ReadAll();
  void ForgetEarlierAttempt();
  bool IsWhole() const;

  const std::filesystem::path run_;
  const CellKey key_;
  bool runs_;
  CellStory story_;
  std::optional<CellFile> file_;
  std::string problem_;
  bool compressed_ = false;  // Tables that can't be read before they are whole.
  std::optional<FolderId> folder_;
  Tables tables_;
};

}  // namespace cosched
