#pragma once
// Reads the records of one cell as they grow, each row once, into its CellStory. A cell that is over
// is read in one go. Used by `cosched watch` on one thread.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "experiments/records/cell_file.h"
#include "experiments/records/table.h"
#include "experiments/watch/cell_story.h"

namespace cosched {

class CellFollower {
 public:
  // runs: it is being recorded in its ".partial" folder; `run` is that of its point, if it has one.
  CellFollower(std::filesystem::path run, CellKey key, bool runs);

  // Takes in what has been written since. True if there was any.
  bool Refresh();

  const CellKey& key() const { return key_; }
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

  template <typename Row, typename... Members>
  bool Read(Table<Row>* table, Members... wanted);
  bool ReadAll();
  bool IsWhole() const;

  const std::filesystem::path run_;
  const CellKey key_;
  bool runs_;
  CellStory story_;
  std::optional<CellFile> file_;
  std::string problem_;
  bool compressed_ = false;  // Tables that can't be read before they are whole.
  Table<GrantRow> grants_;
  Table<SubmittedRow> submitted_;
  Table<SampleRow> samples_;
  Table<DecisionRow> decisions_;
  Table<RequestRow> requests_;
  Table<QueueRow> queues_;
  Table<JobRow> jobs_;
};

}  // namespace cosched
