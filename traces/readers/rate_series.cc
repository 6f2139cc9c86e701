// rate-series: how many arrivals there were in each second, and nothing else: counts between blanks
// (or line ends), no header, often one line of megabytes with a blank at its end; silence is a run
// of zeros. The k-th count is of the second [k, k + 1). Published Twitter and Wikipedia request
// rates come like this. Unless the options say otherwise all arrivals are at their second's start:
// that is what the file says.

#include <algorithm>

#include "traces/input/formats.h"
#include "traces/input/numbers.h"
#include "traces/input/spread.h"
#include "traces/input/table_reader.h"

namespace cosched {

TraceFormat RateSeriesFormat();  // Named in formats.cc.

namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr size_t kLongestCount = 64;

bool IsBlank(char c) { return kBlanks.find(c) != std::string_view::npos; }

class RateSeriesReader final : public TraceReader {
 public:
  RateSeriesReader(std::unique_ptr<TextInput> input, const TraceOptions& options)
      : input_(std::move(input)),
        rule_(options.spread.value_or(Spread::kStart)),
        random_(options.seed),
        log_(options.on_bad_row),
        second_(rule_, 0, Duration::zero(), kSecond, random_) {}

  std::span<const std::string> Columns() const override { return columns_; }
  Counts RowCounts() const override { return log_.Counts(); }
  int Line() const override { return 0; }

  bool Next(Arrival* arrival) override {
    Duration time{0};
    while (!second_.Next(&time)) {
      if (!NextCount()) return false;
    }
    *arrival = {};
    arrival->time = time;
    arrival->kind = Arrival::Kind::kRequest;
    arrival->attributes = {&cell_, 1};
    return true;
  }

 private:
  static constexpr Duration kSecond = std::chrono::seconds(1);

  bool NextCount() {
    if (!TakeToken()) {
      log_.RefuseNothing(input_->File());
      return false;
    }
    const int64_t index = seconds_++;
    int64_t count = 0;
    log_.Try([&] {
      if (index > Duration::max() / kSecond - 1 || !ParseWholeNumber(token_, &count) || count < 0 ||
          count > SpreadArrivals::kMaxCount) {
        count = 0;
        throw BadRow({.file = input_->File(),
                      .key = "second " + std::to_string(index),
                      .problem = "is " + Quoted(token_),
                      .allowed = "a count from 0 to " + std::to_string(SpreadArrivals::kMaxCount)});
      }
    });
    cell_ = token_;
    // A stream of its own for each second: a count that changes moves no other second's arrivals.
    second_ =
        SpreadArrivals(rule_, count, index * kSecond, kSecond,
                       rule_ == Spread::kStart ? random_ : random_.Derive(std::to_string(index)));
    return true;
  }

  // The next text between blanks into token_; of one that can't be a count, no more than its
  // beginning.
  bool TakeToken() {
    token_.clear();
    for (std::string_view piece = input_->Piece(); !piece.empty(); piece = input_->Piece()) {
      const auto first =
          token_.empty() ? std::find_if_not(piece.begin(), piece.end(), IsBlank) : piece.begin();
      const auto last = std::find_if(first, piece.end(), IsBlank);
      const std::string_view part(first, last);
      token_.append(part.substr(0, kLongestCount - std::min(kLongestCount, token_.size())));
      input_->Consume(static_cast<size_t>(last - piece.begin()));
      if (last != piece.end()) break;
    }
    return !token_.empty();
  }

  std::unique_ptr<TextInput> input_;
  const std::vector<std::string> columns_ = {"count"};
  Spread rule_;
  Random random_;
  BadRowLog log_;
  SpreadArrivals second_;
  int64_t seconds_ = 0;
  std::string token_;
  std::string_view cell_;
};

bool Detect(const TraceHead& head) {
  return head.text.find_first_not_of("0123456789. \t\r\n") == std::string_view::npos &&
         head.text.find_first_of("0123456789") != std::string_view::npos;
}

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  return std::make_unique<RateSeriesReader>(std::move(input), options);
}

}  // namespace

TraceFormat RateSeriesFormat() {
  return {.name = "rate-series",
          .summary = "no header, blank-separated counts; how many requests came in each second",
          .detect = Detect,
          .open = Open};
}

}  // namespace cosched
