// The cosched trace format: what it accepts, and that everything else is an error that names file,
// line and column.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "traces/arrivals/trace_reader.h"
#include "traces/input/formats.h"

namespace cosched {
namespace {

// What outlives the reader.
struct Row {
  Duration time{0};
  std::string workload;
  std::optional<int> cores_min, cores_preferred, cores_max, priority;
  std::optional<int64_t> size;
};

class CoschedTraceTest : public testing::Test {
 protected:
  CoschedTraceTest()
      : file_(std::filesystem::temp_directory_path() /
              ("trace-" + std::to_string(getpid()) + ".csv")) {}
  ~CoschedTraceTest() override { std::filesystem::remove(file_); }

  std::vector<Row> Read(const std::string& text) {
    std::ofstream(file_, std::ios::binary) << text;
    const OpenedTrace opened = OpenTrace(file_, "cosched");
    std::vector<Row> rows;
    for (Arrival arrival; opened.reader->Next(&arrival);) {
      rows.push_back({arrival.time, std::string(arrival.tenant), arrival.cores_min,
                      arrival.cores_preferred, arrival.cores_max, arrival.priority, arrival.size});
    }
    return rows;
  }

  InputErrorDetails Refused(const std::string& text) {
    try {
      Read(text);
    } catch (const InputError& error) {
      EXPECT_EQ(error.details().file, file_.string());
      return error.details();
    }
    ADD_FAILURE() << "accepted: " << text;
    return {};
  }

  const std::filesystem::path file_;
};

TEST_F(CoschedTraceTest, ReadsAllColumns) {
  const std::vector<Row> trace = Read(
      "arrival_s,workload,cores_min,cores_preferred,cores_max,priority,steps\n"
      "0,a,1,2,3,-4,5\n");
  ASSERT_EQ(trace.size(), 1U);
  EXPECT_EQ(trace[0].time, Duration::zero());
  EXPECT_EQ(trace[0].workload, "a");
  EXPECT_EQ(trace[0].cores_min, 1);
  EXPECT_EQ(trace[0].cores_preferred, 2);
  EXPECT_EQ(trace[0].cores_max, 3);
  EXPECT_EQ(trace[0].priority, -4);
  EXPECT_EQ(trace[0].size, 5);
}

TEST_F(CoschedTraceTest, OptionalColumnsMayBeAbsentEmptyAndInAnyOrder) {
  const std::vector<Row> trace = Read("steps,workload,arrival_s\n,a,0.5\n7,b,0.5\n");
  ASSERT_EQ(trace.size(), 2U);
  EXPECT_FALSE(trace[0].size.has_value());
  EXPECT_FALSE(trace[0].priority.has_value());
  EXPECT_EQ(trace[1].size, 7);
  EXPECT_EQ(trace[1].time, FromSeconds(0.5));
}

TEST_F(CoschedTraceTest, IgnoresWhatEditorsAndSpreadsheetsAdd) {
  const std::vector<Row> trace = Read(
      "\xEF\xBB\xBF"
      "arrival_s,workload\r\n# comment\r\n\r\n 0 ,\ta \r\n1.25,b");
  ASSERT_EQ(trace.size(), 2U);
  EXPECT_EQ(trace[0].workload, "a");
  EXPECT_EQ(trace[1].time, FromSeconds(1.25));
}

TEST_F(CoschedTraceTest, MalformedRowsNameLineAndColumn) {
  struct Case {
    const char* rows;
    int line;
    const char* column;
  };
  for (const Case& bad : std::initializer_list<Case>{
           {"x,a,1\n", 2, "arrival_s"},
           {"-1,a,1\n", 2, "arrival_s"},
           {"nan,a,1\n", 2, "arrival_s"},
           {"1e300,a,1\n", 2, "arrival_s"},
           {"0,,1\n", 2, "workload"},
           {"0,a,1\n1,a,zero\n", 3, "cores_min"},
           {"0,a,0\n", 2, "cores_min"},
           {"0,a,1.5\n", 2, "cores_min"},
           {"0,a,99999999999\n", 2, "cores_min"},
           {"0,a\n", 2, ""},
           {"0,a,1,2\n", 2, ""},
           {"1,a,1\n0.5,a,1\n", 3, "arrival_s"},
       }) {
    const InputErrorDetails error =
        Refused(std::string("arrival_s,workload,cores_min\n") + bad.rows);
    EXPECT_EQ(error.line, bad.line) << bad.rows;
    EXPECT_EQ(error.key, bad.column) << bad.rows;
    EXPECT_FALSE(error.allowed.empty()) << bad.rows;
  }
}

TEST_F(CoschedTraceTest, BadHeadersAndEmptyTraces) {
  EXPECT_EQ(Refused("arrival_s,workload,steps,steps\n0,a,1,1\n").key, "steps");
  EXPECT_EQ(Refused("0,a\n").line, 1);
  EXPECT_NE(Refused("").problem.find("no arrival"), std::string::npos);
  EXPECT_NE(Refused("arrival_s,workload\n").problem.find("no arrival"), std::string::npos);
}

TEST_F(CoschedTraceTest, FilesThatCantBeRead) {
  EXPECT_THROW(OpenTrace("/nonexistent/trace.csv"), InputError);
  EXPECT_THROW(OpenTrace("/nonexistent/trace.swf"), InputError);
  const std::filesystem::path folder = file_.string() + ".csv";
  std::filesystem::create_directory(folder);
  EXPECT_THROW(OpenTrace(folder), InputError);
  std::filesystem::remove(folder);
}

}  // namespace
}  // namespace cosched
