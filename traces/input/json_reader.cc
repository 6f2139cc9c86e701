#include "traces/input/json_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cosched {
namespace {

// What is the same size in every arrival; its views are not used.
struct Fixed {
  Arrival facts;
  int line;
  uint32_t tenant_size;
};

void AppendBytes(const void* data, size_t size, std::string* out) {
  out->append(static_cast<const char*>(data), size);
}

class JsonObjectsReader final : public TraceReader {
 public:
  JsonObjectsReader(std::unique_ptr<TextInput> input, std::string_view list, OnBadRow on_bad_row,
                    std::function<Arrival(const JsonRecord& record)> read)
      : read_(std::move(read)), log_(on_bad_row) {
    if (list.empty()) {
      ReadLines(input.get());
    } else {
      ReadList(input.get(), list);
    }
    log_.RefuseNothing(input->File());
    sorter_.Finish();
  }

  std::span<const std::string> Columns() const override { return sorter_.Columns(); }
  bool Next(Arrival* arrival) override { return sorter_.Next(arrival, &line_); }
  int Line() const override { return line_; }
  Counts RowCounts() const override { return log_.Counts(); }

 private:
  void Take() { sorter_.Add(read_(builder_.Record()), builder_.Record()); }

  void ReadLines(TextInput* input) {
    std::string_view line;
    while (input->Line(&line)) {
      if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
      const JsonPlace place{&input->File(), input->LineNumber()};
      log_.Try([&] {
        builder_.Begin(place);
        OneObject only(&builder_);
        ParseJsonLine(line, &only, place);
        Take();
      });
    }
  }

  void ReadList(TextInput* input, std::string_view list) {
    ReadObjects(input, list, &builder_, [this] { log_.Try([this] { Take(); }); });
  }

  // Refuses what is not one object.
  class OneObject final : public JsonEvents {
   public:
    explicit OneObject(JsonRecordBuilder* builder) : builder_(builder) {}
    void BeginObject() override { inside_ = true, builder_->BeginObject(); }
    void EndObject() override { builder_->EndObject(); }
    void BeginArray() override { Inside(), builder_->BeginArray(); }
    void EndArray() override { builder_->EndArray(); }
    void Key(std::string_view key) override { builder_->Key(key); }
    void Scalar(const JsonScalar& scalar) override { Inside(), builder_->Scalar(scalar); }

   private:
    void Inside() const {
      if (!inside_) builder_->Record().Fail("", "is no object", "{…} on each line");
    }
    JsonRecordBuilder* builder_;
    bool inside_ = false;
  };

  std::function<Arrival(const JsonRecord& record)> read_;
  BadRowLog log_;
  JsonRecordBuilder builder_;
  ArrivalSorter sorter_;
  int line_ = 0;
};

}  // namespace

size_t ArrivalSorter::ColumnOf(const JsonRecord& record, const std::string& key) {
  const auto found = std::find(columns_.begin(), columns_.end(), key);
  if (found != columns_.end()) return static_cast<size_t>(found - columns_.begin());
  if (columns_.size() == kMaxColumns) {
    record.Fail(key, "is one of more than " + std::to_string(kMaxColumns) + " keys of the file",
                "fewer");
  }
  columns_.push_back(key);
  return columns_.size() - 1;
}

void ArrivalSorter::Add(const Arrival& facts, const JsonRecord& record) {
  const Fixed fixed{facts, record.Line(), static_cast<uint32_t>(facts.tenant.size())};
  bytes_.clear();
  AppendBytes(&fixed, sizeof fixed, &bytes_);
  bytes_ += facts.tenant;
  for (const JsonRecord::Field& field : record.Fields()) {
    const auto column = static_cast<uint32_t>(ColumnOf(record, field.key));
    const auto size = static_cast<uint32_t>(field.text.size());
    AppendBytes(&column, sizeof column, &bytes_);
    AppendBytes(&size, sizeof size, &bytes_);
    bytes_ += field.text;
  }
  sort_.Add(facts.time.count(), bytes_);
}

bool ArrivalSorter::Next(Arrival* arrival, int* line) {
  int64_t time = 0;
  std::string_view record;
  if (!sort_.Next(&time, &record)) return false;
  Fixed fixed;
  std::memcpy(static_cast<void*>(&fixed), record.data(), sizeof fixed);
  record.remove_prefix(sizeof fixed);
  *arrival = fixed.facts;
  *line = fixed.line;
  arrival->tenant = record.substr(0, fixed.tenant_size);
  record.remove_prefix(fixed.tenant_size);
  cells_.assign(columns_.size(), {});
  while (!record.empty()) {
    uint32_t column = 0;
    uint32_t size = 0;
    std::memcpy(&column, record.data(), sizeof column);
    std::memcpy(&size, record.data() + sizeof column, sizeof size);
    record.remove_prefix(sizeof column + sizeof size);
    cells_[column] = record.substr(0, size);
    record.remove_prefix(size);
  }
  arrival->attributes = cells_;
  return true;
}

std::unique_ptr<TraceReader> ReadJsonObjects(
    std::unique_ptr<TextInput> input, std::string_view list, OnBadRow on_bad_row,
    std::function<Arrival(const JsonRecord& record)> read) {
  return std::make_unique<JsonObjectsReader>(std::move(input), list, on_bad_row, std::move(read));
}

}  // namespace cosched
