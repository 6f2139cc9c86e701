#include "traces/input/table.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

namespace cosched {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

inline std::string_view Trim(const char* begin, const char* end) {
  if (begin < end && (IsBlank(*begin) || IsBlank(end[-1]))) {
    while (begin < end && IsBlank(*begin)) ++begin;
    while (begin < end && IsBlank(end[-1])) --end;
  }
  return {begin, static_cast<size_t>(end - begin)};
}

}  // namespace

bool CellSplitter::Split(std::string_view line) {
  count_ = 0;
  if (syntax_.separator == ',') return SplitAtCommas(line);
  if (syntax_.separator == ' ') {
    SplitAtBlanks(line);
  } else {
    SplitAtTabs(line);
  }
  return true;
}

bool CellSplitter::SplitAtCommas(std::string_view line) {
  const char* begin = line.data();  // The cell's begin.
  const char* at = line.data();
  const char* const end = at + line.size();
#ifdef __SSE2__
  // Sixteen characters at a time: cells are so short that a loop over characters is mispredicted at
  // the end of each. The last block ends with the line; `done` are its characters seen before.
  constexpr ptrdiff_t kBlock = 16;
  const __m128i commas = _mm_set1_epi8(',');
  const __m128i quotes = _mm_set1_epi8('"');
  if (end - at >= kBlock) {
    while (at < end) {
      const char* const block_at = std::min(at, end - kBlock);
      const auto done = static_cast<unsigned>(at - block_at);
      const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block_at));
      if (_mm_movemask_epi8(_mm_cmpeq_epi8(block, quotes)) != 0) return SplitQuoted(line);
      auto found = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(block, commas)));
      for (found &= ~0U << done; found != 0; found &= found - 1) {
        const char* const comma = block_at + std::countr_zero(found);
        Add(Trim(begin, comma));
        begin = comma + 1;
      }
      at = block_at + kBlock;
    }
  }
#endif
  for (; at < end; ++at) {
    if (*at == '"') return SplitQuoted(line);
    if (*at != ',') continue;
    Add(Trim(begin, at));
    begin = at + 1;
  }
  Add(Trim(begin, end));
  return true;
}

// A line with a quote somewhere.
bool CellSplitter::SplitQuoted(std::string_view line) {
  count_ = 0;
  unquoted_.clear();
  while (true) {
    const char* begin = line.data();
    const char* const end = begin + line.size();
    while (begin < end && IsBlank(*begin)) ++begin;
    if (begin < end && *begin == '"') {
      line.remove_prefix(static_cast<size_t>(begin - line.data()));
      if (!TakeQuoted(&line)) return false;
    } else {
      const char* const comma = std::find(begin, end, ',');
      Add(Trim(begin, comma));
      line.remove_prefix(static_cast<size_t>(comma - line.data()));
    }
    if (line.empty()) return true;
    line.remove_prefix(1);
  }
}

bool CellSplitter::TakeQuoted(std::string_view* line) {
  // The first quoted cell makes room for all of the line: cells point here, it must not move.
  if (unquoted_.empty()) unquoted_.reserve(line->size());
  const size_t start = unquoted_.size();
  for (size_t i = 1;; ++i) {
    if (i >= line->size()) return false;
    if ((*line)[i] != '"') {
      unquoted_ += (*line)[i];
    } else if (i + 1 < line->size() && (*line)[i + 1] == '"') {
      unquoted_ += '"';
      ++i;
    } else {
      ++i;
      while (i < line->size() && IsBlank((*line)[i])) ++i;
      if (i < line->size() && (*line)[i] != ',') return false;
      Add(std::string_view(unquoted_).substr(start));
      line->remove_prefix(i);
      return true;
    }
  }
}

void CellSplitter::SplitAtTabs(std::string_view line) {
  while (true) {
    const size_t tab = std::min(line.find(syntax_.separator), line.size());
    Add(line.substr(0, tab));
    if (tab == line.size()) return;
    line.remove_prefix(tab + 1);
  }
}

void CellSplitter::SplitAtBlanks(std::string_view line) {
  const char* at = line.data();
  const char* const end = at + line.size();
  while (true) {
    while (at < end && IsBlank(*at)) ++at;
    if (at == end) return;
    const char* begin = at;
    while (at < end && !IsBlank(*at)) ++at;
    Add({begin, static_cast<size_t>(at - begin)});
  }
}

Table::Table(std::unique_ptr<TextInput> input, const TableSyntax& syntax)
    : input_(std::move(input)), syntax_(syntax), splitter_(syntax) {
  if (syntax_.names == nullptr) {
    ReadHeader();
  } else {
    columns_ = std::make_unique<Columns>(input_->File(), 0, syntax_.names(input_->Head()));
  }
  row_ = std::make_unique<Row>(input_->File(), *columns_);
}

bool Table::NextLine(std::string_view* line) {
  while (input_->Line(line)) {
    if (!line->empty() && line->front() > ' ' && line->front() != syntax_.comment) {
      line_number_ = input_->LineNumber();
      return true;
    }
    // A line that begins with a blank is rare enough for a second look.
    const size_t text = line->find_first_not_of(" \t");
    if (text == std::string_view::npos || (*line)[text] == syntax_.comment) continue;
    line_number_ = input_->LineNumber();
    return true;
  }
  return false;
}

const Row& Table::Split(std::string_view line, int line_number) {
  const bool well_formed = splitter_.Split(line);
  row_->Set(line_number, splitter_.Cells());
  if (!well_formed) row_->Fail("", "a quote is not closed: " + Quoted(line), "\"…\", on one line");
  if (splitter_.Cells().size() != columns_->Count()) {
    row_->Fail("", "has " + std::to_string(splitter_.Cells().size()) + " cells: " + Quoted(line),
               std::to_string(columns_->Count()) + " cells, as the " +
                   (syntax_.names == nullptr ? "header has" : "format has"));
  }
  return *row_;
}

void Table::ReadHeader() {
  std::string_view line;
  if (!NextLine(&line)) input_->Fail("holds no arrival", "a header, then a row an arrival");
  if (!splitter_.Split(line)) input_->Fail("a quote of the header is not closed");
  std::vector<std::string> names(splitter_.Cells().begin(), splitter_.Cells().end());
  columns_ = std::make_unique<Columns>(input_->File(), line_number_, std::move(names));
  std::set<std::string_view> seen;
  for (const std::string& name : columns_->Names()) {
    if (!name.empty() && !seen.insert(name).second)
      columns_->Fail(name, "is there twice", "each column once");
  }
}

}  // namespace cosched
