// The input layer: exact numbers, lines of any shape through one bounded buffer, cells, and a sort
// that spills.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "traces/input/external_sort.h"
#include "traces/input/numbers.h"
#include "traces/input/table.h"
#include "traces/input/text_input.h"

namespace cosched {
namespace {

// Gives a text in pieces of a few bytes, as a pipe may.
class Dribble final : public ByteSource {
 public:
  Dribble(std::string text, size_t piece) : text_(std::move(text)), piece_(piece) {}
  size_t Read(char* data, size_t size) override {
    const size_t got = text_.copy(data, std::min(size, piece_), given_);
    given_ += got;
    return got;
  }

 private:
  std::string text_;
  size_t piece_;
  size_t given_ = 0;
};

std::unique_ptr<TextInput> Input(std::string text, size_t piece = 1 << 20) {
  return std::make_unique<TextInput>(std::make_unique<Dribble>(std::move(text), piece), "memory");
}

std::vector<std::string> Lines(const std::string& text, size_t piece) {
  const std::unique_ptr<TextInput> input = Input(text, piece);
  std::vector<std::string> lines;
  std::string_view line;
  while (input->Line(&line)) {
    lines.emplace_back(line);
    EXPECT_EQ(input->LineNumber(), static_cast<int>(lines.size()));
  }
  return lines;
}

int64_t Nanoseconds(std::string_view text) {
  Duration value{-999};
  return ParseSeconds(text, &value) ? value.count() : -999;
}

TEST(Numbers, SecondsAreExactNanoseconds) {
  EXPECT_EQ(Nanoseconds("0"), 0);
  EXPECT_EQ(Nanoseconds("4.314579"), 4'314'579'000);
  EXPECT_EQ(Nanoseconds("4.314579000000001"), 4'314'579'000);
  EXPECT_EQ(Nanoseconds("12345678.999999999"), 12'345'678'999'999'999);
  EXPECT_EQ(Nanoseconds("-0.25"), -250'000'000);
  EXPECT_EQ(Nanoseconds("+.5"), 500'000'000);
  EXPECT_EQ(Nanoseconds("7."), 7'000'000'000);
  EXPECT_EQ(Nanoseconds("1.5e3"), 1'500'000'000'000);
  EXPECT_EQ(Nanoseconds("15E-1"), 1'500'000'000);
  EXPECT_EQ(Nanoseconds("000000000000000000000000.100000000000000000000"), 100'000'000);
}

TEST(Numbers, WhatIsBelowANanosecondIsRoundedHalfAwayFromZero) {
  EXPECT_EQ(Nanoseconds("0.0000000005"), 1);
  EXPECT_EQ(Nanoseconds("0.00000000049999999999"), 0);
  EXPECT_EQ(Nanoseconds("-0.0000000005"), -1);
  EXPECT_EQ(Nanoseconds("1.0000000015"), 1'000'000'002);
  EXPECT_EQ(Nanoseconds("1.0000000025"), 1'000'000'003);
  EXPECT_EQ(Nanoseconds("0.9999999995"), 1'000'000'000);
  EXPECT_EQ(Nanoseconds("5e-10"), 1);
  EXPECT_EQ(Nanoseconds("5e-11"), 0);
}

TEST(Numbers, OverflowAndNonsenseAreRefused) {
  EXPECT_EQ(Nanoseconds("9223372036.854775807"), INT64_MAX);
  for (const char* bad : {"",
                          "-",
                          ".",
                          "e5",
                          "1e",
                          "1e+",
                          "1..2",
                          "1,5",
                          "nan",
                          "inf",
                          "0x10",
                          " 1",
                          "1 ",
                          "9223372036.854775808",
                          "9223372036.8547758075",
                          "1e300",
                          "1e99999999999999999999",
                          "99999999999999999999",
                          "--1",
                          "1-"}) {
    EXPECT_EQ(Nanoseconds(bad), -999) << bad;
  }
  EXPECT_EQ(Nanoseconds("0e99999999999999999999"), 0);
  EXPECT_EQ(Nanoseconds("1e-99999999999999999999"), 0);
}

TEST(Numbers, FastAndSlowPathsAgree) {
  Random random(5);
  for (int i = 0; i < 50'000; ++i) {
    std::string text = random.Below(8) == 0 ? "-" : "";
    for (uint64_t digits = random.Below(12); digits > 0; --digits)
      text += static_cast<char>('0' + random.Below(10));
    if (random.Below(4) > 0) text += ".";
    for (uint64_t digits = random.Below(20); digits > 0; --digits)
      text += static_cast<char>('0' + random.Below(10));
    EXPECT_EQ(Nanoseconds(text), Nanoseconds(text + "e0")) << text;  // An exponent is rare enough.
  }
}

TEST(Numbers, WholeNumbersMayBeWrittenAsDecimals) {
  int64_t value = 0;
  EXPECT_TRUE(ParseWholeNumber("57523.0", &value));
  EXPECT_EQ(value, 57523);
  EXPECT_TRUE(ParseWholeNumber("1e3", &value));
  EXPECT_EQ(value, 1000);
  EXPECT_TRUE(ParseWholeNumber("-9223372036854775807", &value));
  for (const char* bad : {"0.5", "0.00000000000000000001", "", "1e30"}) {
    EXPECT_FALSE(ParseWholeNumber(bad, &value)) << bad;
  }
}

int64_t Date(std::string_view text) {
  Duration value{-999};
  return ParseDateTime(text, &value) ? value.count() : -999;
}

TEST(Numbers, Dates) {
  constexpr int64_t kSecond = 1'000'000'000;
  EXPECT_EQ(Date("1970-01-01 00:00:00"), 0);
  EXPECT_EQ(Date("1970-01-02"), 86400 * kSecond);
  EXPECT_EQ(Date("2023-11-16 18:15:46.6805900"), 1700158546 * kSecond + 680'590'000);
  EXPECT_EQ(Date("2023-11-16T18:15:46Z"), 1700158546 * kSecond);
  EXPECT_EQ(Date("2023-11-16 18:15:46+00:00"), 1700158546 * kSecond);
  EXPECT_EQ(Date("2023-11-16 19:45:46+01:30"), 1700158546 * kSecond);
  EXPECT_EQ(Date("2023-11-16 10:15:46-0800"), 1700158546 * kSecond);
  EXPECT_EQ(Date("2024-02-29 00:00"), 1709164800 * kSecond);
  EXPECT_EQ(Date("2024/02/29 00:00:01"), 1709164801 * kSecond);
  for (const char* bad :
       {"", "2023", "2023-02-29 00:00:00", "2023-13-01 00:00:00", "2023-11-16 24:00:00",
        "2023-11-16 18:60:00", "2023-11-16 18:15:46.", "2023-11-16 18:15:46x",
        "2023-11-16 18:15:46+1", "0000-01-01 00:00:00", "9999-01-01 00:00:00", "1/2/2023 10:00",
        "2023-11/16 00:00:00", "2023.11.16"}) {
    EXPECT_EQ(Date(bad), -999) << bad;
  }
}

TEST(TextInput, LinesOfAnyEndThroughPiecesOfAnySize) {
  const std::vector<std::string> expected = {"one", "", "three", "fo\rur", "five"};
  for (const size_t piece : {1U, 2U, 3U, 5U, 1000U}) {
    EXPECT_EQ(Lines("\xEF\xBB\xBFone\r\n\nthree\nfo\rur\r\nfive", piece), expected) << piece;
    EXPECT_EQ(Lines("one\n\nthree\r\nfo\rur\nfive\n", piece), expected) << piece;
    EXPECT_TRUE(Lines("", piece).empty());
    EXPECT_TRUE(Lines("\xEF\xBB\xBF", piece).empty());
  }
}

TEST(TextInput, ManyLinesThroughTheBufferAndNoEndBehindTheLast) {
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 60'000; ++i) {
    expected.push_back("line " + std::to_string(i));
    text += (i == 0 ? "" : "\r\n") + expected.back();
  }
  for (const size_t piece : {100U, 4096U, 1'000'000U}) EXPECT_EQ(Lines(text, piece), expected);
}

TEST(TextInput, LongLinesUpToTheBound) {
  const std::string longest(TextInput::kLongestLine, 'x');
  EXPECT_EQ(Lines("a\n" + longest + "\nb", 100'000), (std::vector<std::string>{"a", longest, "b"}));
  EXPECT_THROW(Lines("a\n" + longest + longest, 100'000), InputError);
}

TEST(TextInput, HeadStaysToBeRead) {
  const std::unique_ptr<TextInput> input = Input("\xEF\xBB\xBF" + std::string(100'000, 'x'), 1000);
  EXPECT_EQ(input->Head(), std::string(64 << 10, 'x'));
  EXPECT_FALSE(input->HeadIsAll());
  EXPECT_EQ(input->Rest(100'000), std::string(100'000, 'x'));
  const std::unique_ptr<TextInput> small = Input("abc");
  EXPECT_TRUE(small->HeadIsAll());
  EXPECT_THROW(small->Rest(2), InputError);
}

TEST(TextInput, WhatIsNoTextIsRefused) {
  for (const std::string& bad :
       {std::string("a\0b\n", 4),
        std::string("\xff\xfe"
                    "a\0,\0",
                    6),
        std::string("latin1 \xe9\n"), std::string("cut \xe2\x82\n"), std::string("\xc0\x80\n"),
        std::string("\xed\xa0\x80\n"), std::string("\xf8\n")}) {
    EXPECT_THROW(Lines(bad, 100), InputError) << bad;
  }
  EXPECT_EQ(Lines("é€😀\n", 1), (std::vector<std::string>{"é€😀"}));
}

std::vector<std::string_view> Cells(CellSplitter* splitter, std::string_view line) {
  if (!splitter->Split(line)) return {"malformed"};
  return {splitter->Cells().begin(), splitter->Cells().end()};
}

TEST(CellSplitter, CommasBlanksAndQuotes) {
  using Expected = std::vector<std::string_view>;
  CellSplitter splitter({});
  EXPECT_EQ(Cells(&splitter, "a,b"), (Expected{"a", "b"}));
  EXPECT_EQ(Cells(&splitter, ""), (Expected{""}));
  EXPECT_EQ(Cells(&splitter, ",\t,"), (Expected{"", "", ""}));
  EXPECT_EQ(Cells(&splitter, " a b , c\t"), (Expected{"a b", "c"}));
  EXPECT_EQ(Cells(&splitter, R"("a,b","say ""hi""" ,"",d"e)"),
            (Expected{"a,b", "say \"hi\"", "", "d\"e"}));
  EXPECT_EQ(Cells(&splitter, R"("open,b)"), (Expected{"malformed"}));
  EXPECT_EQ(Cells(&splitter, R"("a"b,c)"), (Expected{"malformed"}));
}

TEST(CellSplitter, TabsKeepBlanksAndBlanksRunTogether) {
  using Expected = std::vector<std::string_view>;
  CellSplitter tabs({.separator = '\t'});
  EXPECT_EQ(Cells(&tabs, "a b\t\t\"c\t "), (Expected{"a b", "", "\"c", " "}));
  CellSplitter blanks({.separator = ' '});
  EXPECT_EQ(Cells(&blanks, "  1   -1 \t2  "), (Expected{"1", "-1", "2"}));
}

TEST(Table, ErrorsNameLineAndContent) {
  Table table(Input("a,b\n\n1,2,3\n"), {});
  std::string_view line;
  ASSERT_TRUE(table.NextLine(&line));
  try {
    table.Split(line, table.LineNumber());
    ADD_FAILURE();
  } catch (const BadRow& error) {
    EXPECT_STREQ(error.what(),
                 "memory:3: has 3 cells: \"1,2,3\"; allowed: 2 cells, as the header has");
  }
  EXPECT_THROW(Table(Input("a,a\n"), {}), InputError);
  EXPECT_THROW(Table(Input("\n \n"), {}), InputError);
}

TEST(ExternalSort, SpilledOrNotItIsAStableSort) {
  for (const size_t memory : {size_t{1} << 30, size_t{20'000}, size_t{100}, size_t{1}}) {
    Random random(7);
    std::vector<std::pair<int64_t, std::string>> expected;
    ExternalSort sort(memory);
    for (int i = 0; i < 2'000; ++i) {
      const auto key = static_cast<int64_t>(random.Below(300)) - 150;
      std::string record = std::to_string(i) + std::string(random.Below(60), 'x');
      sort.Add(key, record);
      expected.emplace_back(key, std::move(record));
    }
    std::stable_sort(expected.begin(), expected.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    sort.Finish();
    int64_t key = 0;
    std::string_view record;
    for (const auto& [expected_key, expected_record] : expected) {
      ASSERT_TRUE(sort.Next(&key, &record));
      ASSERT_EQ(key, expected_key) << memory;
      ASSERT_EQ(record, expected_record) << memory;
    }
    EXPECT_FALSE(sort.Next(&key, &record));
    EXPECT_FALSE(sort.Next(&key, &record));
  }
  ExternalSort nothing;
  nothing.Finish();
  int64_t key = 0;
  std::string_view record;
  EXPECT_FALSE(nothing.Next(&key, &record));
}

TEST(ExternalSort, NoFolderForTemporaryFilesIsTheMachinesFault) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  setenv("TMPDIR", "/nonexistent", 1);
  ExternalSort sort(1);
  sort.Add(1, "a");
  EXPECT_THROW(sort.Add(2, "b"), OutputError);
  before != nullptr ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
}

}  // namespace
}  // namespace cosched
