// Which format a file is taken for, and that every format of the table keeps what trace_reader.h
// promises.

#include "traces/input/formats.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "engine/base/error.h"
#include "tests/paths.h"
#include "tests/traces/read_trace.h"

namespace cosched {
namespace {

OpenedTrace Open(const std::string& text, std::string_view format = "") {
  static std::string kept;  // The text must outlive the reader.
  kept = text;
  return OpenTrace(std::make_unique<TextInput>(OpenBytes(kept, "memory"), "memory"), format);
}

InputErrorDetails Refused(const std::string& text, std::string_view format = "") {
  try {
    Open(text, format);
  } catch (const InputError& error) {
    return error.details();
  }
  ADD_FAILURE() << "opened: " << text;
  return {};
}

TEST(OpenTrace, UnknownContentListsTheFormats) {
  for (const char* text : {"hello", "1;2;3\n", "#\n#", "\n\n\n"}) {
    const InputErrorDetails error = Refused(text);
    EXPECT_NE(error.problem.find("no known trace format"), std::string::npos) << text;
    for (const TraceFormat& format : TraceFormats()) {
      EXPECT_NE(error.allowed.find(format.name), std::string::npos) << format.name;
    }
  }
  EXPECT_NE(Refused("").problem.find("no arrival"), std::string::npos);
}

TEST(OpenTrace, BlankLinesBeforeTheFirstDecideNothing) {
  EXPECT_EQ(Open("\r\n \t\narrived_at,num_prefill_tokens,num_decode_tokens\n0,1,1\n").format->name,
            "vidur");
  EXPECT_EQ(Open("\n  1 5 0 61 16 -1 -1 16 1 1 1 6 1 -1 -1 1 -1 -1\n").format->name, "swf");
}

TEST(OpenTrace, UnknownNamesListTheFormats) {
  const InputErrorDetails error = Refused("arrival_s\n0\n", "coshed");
  EXPECT_EQ(error.key, "format");
  EXPECT_NE(error.allowed.find("cosched"), std::string::npos);
}

TEST(TraceFormats, EveryOneHasANameOfItsOwnAndASummary) {
  std::set<std::string_view> names;
  for (const TraceFormat& format : TraceFormats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_FALSE(format.summary.empty()) << format.name;
    EXPECT_LT(format.summary.size(), 100U) << format.name;
  }
}

TEST(Spread, NamesGoBothWays) {
  for (const Spread spread : {Spread::kUniform, Spread::kStart, Spread::kExponential}) {
    Spread parsed = Spread::kStart;
    EXPECT_TRUE(ParseSpread(ToString(spread), &parsed));
    EXPECT_EQ(parsed, spread);
  }
  Spread untouched = Spread::kStart;
  EXPECT_FALSE(ParseSpread("Uniform", &untouched));
}

// Whatever is no trace at all is an InputError in every format, with either rule for bad rows.
TEST(TraceFormats, EveryOneRefusesWhatIsNoTrace) {
  const std::string inputs[] = {"",
                                "\n",
                                std::string("\0\1\2\3", 4),
                                std::string("\xff\xfe,\0", 4),
                                "\xe9t\xe9\n",
                                std::string(3 << 20, 'x'),
                                "{",
                                "[",
                                "a,b\nc\n",
                                "# only a comment\n"};
  for (const TraceFormat& format : TraceFormats()) {
    for (const OnBadRow on_bad_row : {OnBadRow::kError, OnBadRow::kSkip}) {
      for (const std::string& input : inputs) {
        const auto read = [&] {
          const OpenedTrace trace =
              OpenTrace(std::make_unique<TextInput>(OpenBytes(input, "memory"), "memory"),
                        format.name, {.on_bad_row = on_bad_row});
          Arrival arrival;
          while (trace.reader->Next(&arrival)) {
          }
        };
        EXPECT_THROW(read(), InputError)
            << format.name << " accepts " << input.substr(0, 20) << " of " << input.size();
      }
    }
  }
}

// The fuzz targets' seeds of a format, by name: small files that show what it may look like. The
// name of one with malformed rows begins with "bad".
std::map<std::string, std::string> Seeds(std::string_view format) {
  const std::filesystem::path folder =
      std::filesystem::path(InSource("tests/fuzz/corpus")) / format;
  std::map<std::string, std::string> seeds;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds[entry.path().filename()] = {std::istreambuf_iterator<char>(file),
                                      std::istreambuf_iterator<char>()};
  }
  return seeds;
}

TEST(TraceFormats, EveryOneHasSeedsThatAreRecognisedAndKeepThePromises) {
  for (const TraceFormat& format : TraceFormats()) {
    const std::map<std::string, std::string> seeds = Seeds(format.name);
    EXPECT_FALSE(seeds.empty()) << "tests/fuzz/corpus/" << format.name;
    for (const auto& [name, seed] : seeds) {
      const bool bad = name.starts_with("bad");
      SCOPED_TRACE(std::string(format.name) + "/" + name);
      if (bad) RefusedText(seed, format.name);
      ReadResult trace;
      const TraceOptions options = {.on_bad_row = bad ? OnBadRow::kSkip : OnBadRow::kError};
      // What is malformed may not be recognised either.
      ASSERT_NO_THROW(trace = ReadText(seed, bad ? format.name : "", options));
      EXPECT_EQ(trace.format, format.name);
      EXPECT_FALSE(trace.arrivals.empty());
      EXPECT_EQ(trace.counts.skipped > 0, bad);
    }
  }
}

TEST(TraceFormats, CutOffAnywhereItIsATraceOrAnError) {
  for (const TraceFormat& format : TraceFormats()) {
    for (const auto& [name, seed] : Seeds(format.name)) {
      for (size_t length = 0; length < seed.size(); ++length) {
        for (const OnBadRow on_bad_row : {OnBadRow::kError, OnBadRow::kSkip}) {
          try {
            ReadText(seed.substr(0, length), format.name, {.on_bad_row = on_bad_row});
          } catch (const InputError& error) {
            EXPECT_FALSE(error.details().problem.empty()) << name << " at " << length;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace cosched
