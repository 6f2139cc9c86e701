// gaps: a JSON array of the seconds between arrivals, [0.2, 1.75, …]. An arrival's time is the sum
// of the gaps up to its own, exact to the nanosecond; the first gap is from 0.

#include "traces/input/formats.h"
#include "traces/input/json_reader.h"
#include "traces/input/numbers.h"

namespace cosched {

TraceFormat GapsFormat();  // Named in formats.cc.

namespace {

class GapsReader final : public TraceReader, private JsonEvents {
 public:
  GapsReader(std::unique_ptr<TextInput> input, OnBadRow on_bad_row) : log_(on_bad_row) {
    place_ = {&input->File(), 1};
    ParseJson(input.get(), this, &place_);
    log_.RefuseNothing(input->File());
    sorter_.Finish();
  }

  std::span<const std::string> Columns() const override { return sorter_.Columns(); }
  bool Next(Arrival* arrival) override { return sorter_.Next(arrival, &line_); }
  int Line() const override { return line_; }
  Counts RowCounts() const override { return log_.Counts(); }

 private:
  void BeginObject() override { Refuse("an object"); }
  void EndObject() override {}
  void BeginArray() override {
    if (inside_) Refuse("an array");
    inside_ = true;
  }
  void EndArray() override {}
  void Key(std::string_view) override {}
  void Scalar(const JsonScalar& scalar) override {
    if (!inside_) Refuse("no array");
    log_.Try([&] { Take(scalar); });
  }

  void Take(const JsonScalar& scalar) {
    record_.Begin(place_);
    record_.Add("gap_s", scalar.kind, std::string(scalar.text));
    const Duration gap = record_.Seconds("gap_s");
    if (gap > Duration::max() - now_)
      record_.Fail("gap_s", "leads beyond the year 2262", "shorter gaps");
    now_ += gap;
    Arrival arrival;
    arrival.time = now_;
    sorter_.Add(arrival, record_);
  }

  [[noreturn]] void Refuse(const char* what) const {
    throw InputError({.file = *place_.file,
                      .line = place_.line,
                      .problem = std::string("holds ") + what,
                      .allowed = "one array of numbers"});
  }

  BadRowLog log_;
  JsonPlace place_{};
  JsonRecord record_;
  ArrivalSorter sorter_;
  Duration now_{0};
  bool inside_ = false;
  int line_ = 0;
};

bool Detect(const TraceHead& head) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = head.text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos || head.text[first] != '[') return false;
  const size_t second = head.text.find_first_not_of(kBlanks, first + 1);
  return second != std::string_view::npos &&
         std::string_view("-0123456789").find(head.text[second]) != std::string_view::npos;
}

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  return std::make_unique<GapsReader>(std::move(input), options.on_bad_row);
}

}  // namespace

TraceFormat GapsFormat() {
  return {.name = "gaps",
          .summary = "a JSON array of the seconds between arrivals",
          .detect = Detect,
          .open = Open};
}

}  // namespace cosched
