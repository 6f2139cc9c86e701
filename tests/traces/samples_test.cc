// The published sample files in ../shared/data/traces have these totals, which others have counted.
// Skipped where the files are not there.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "tests/paths.h"
#include "tests/traces/read_trace.h"

namespace cosched {
namespace {

std::filesystem::path Sample(const std::string& name) {
  const char* shared = std::getenv("COSCHED_SHARED_DATA");
  const std::filesystem::path folder =
      shared != nullptr ? shared : std::filesystem::path(InSource("../shared/data"));
  return folder / "traces" / name;
}

#define SKIP_WITHOUT(file)            \
  if (!std::filesystem::exists(file)) \
  GTEST_SKIP() << "no sample: " << (file) << " is missing; set COSCHED_SHARED_DATA"

int64_t Sum(const ReadResult& trace, const std::string& column) {
  int64_t sum = 0;
  for (const ReadArrival& arrival : trace.arrivals) sum += std::stoll(arrival.cells.at(column));
  return sum;
}

TEST(Samples, AzureLlmConversations2023) {
  const std::filesystem::path file = Sample("azure_llm_2023_conv.csv.gz");
  SKIP_WITHOUT(file);
  const ReadResult trace = Drain(OpenTrace(file));
  EXPECT_EQ(trace.format, "azure-llm");
  ASSERT_EQ(trace.arrivals.size(), 19'366U);
  const Duration first = trace.arrivals.front().facts.time;
  EXPECT_EQ((trace.arrivals.back().facts.time - first).count(), 3'501'721'937'000);
  EXPECT_EQ(Sum(trace, "ContextTokens"), 22'361'870);
  EXPECT_EQ(Sum(trace, "GeneratedTokens"), 4'088'665);
  double squares = 0;
  std::map<int64_t, int> seconds;
  const double mean =
      ToSeconds(trace.arrivals.back().facts.time - first) / (trace.arrivals.size() - 1.0);
  for (size_t i = 0; i < trace.arrivals.size(); ++i) {
    ++seconds[(trace.arrivals[i].facts.time - first) / std::chrono::seconds(1)];
    if (i == 0) continue;
    const double gap = ToSeconds(trace.arrivals[i].facts.time - trace.arrivals[i - 1].facts.time);
    squares += (gap - mean) * (gap - mean);
  }
  EXPECT_NEAR(std::sqrt(squares / (trace.arrivals.size() - 1.0)) / mean, 1.0941699818, 5e-11);
  int busiest = 0;
  for (const auto& [second, count] : seconds) busiest = std::max(busiest, count);
  EXPECT_EQ(busiest, 16);
}

TEST(Samples, TheVidurCopyOfIt) {
  const std::filesystem::path file = Sample("azure_llm_2023_conv_vidur_processed.csv.gz");
  const std::filesystem::path original = Sample("azure_llm_2023_conv.csv.gz");
  SKIP_WITHOUT(file);
  SKIP_WITHOUT(original);
  const ReadResult copy = Drain(OpenTrace(file));
  const ReadResult trace = Drain(OpenTrace(original));
  EXPECT_EQ(copy.format, "vidur");
  ASSERT_EQ(copy.arrivals.size(), trace.arrivals.size());
  const Duration first = trace.arrivals.front().facts.time;
  for (size_t i = 0; i < trace.arrivals.size(); ++i) {
    const ReadArrival& a = trace.arrivals[i];
    const ReadArrival& b = copy.arrivals[i];
    ASSERT_EQ(a.facts.time - first, b.facts.time) << i;
    ASSERT_EQ(a.cells.at("ContextTokens"), b.cells.at("num_prefill_tokens")) << i;
    ASSERT_EQ(a.cells.at("GeneratedTokens"), b.cells.at("num_decode_tokens")) << i;
  }
}

TEST(Samples, PolluxWorkload1) {
  const std::filesystem::path file = Sample("pollux_workload-1.csv");
  SKIP_WITHOUT(file);
  const ReadResult trace = Drain(OpenTrace(file));
  EXPECT_EQ(trace.format, "pollux");
  ASSERT_EQ(trace.arrivals.size(), 160U);
  Duration times{0};
  int replicas = 0;
  for (const ReadArrival& arrival : trace.arrivals) {
    times += arrival.facts.time;
    replicas += *arrival.facts.cores_preferred;
  }
  EXPECT_EQ(times, std::chrono::seconds(2'357'198));
  EXPECT_EQ(replicas, 1'092);
}

TEST(Samples, GavelPhysical) {
  const std::filesystem::path file = Sample("gavel_physical_max_min_fairness.trace");
  SKIP_WITHOUT(file);
  const ReadResult trace = Drain(OpenTrace(file));
  EXPECT_EQ(trace.format, "gavel");
  EXPECT_EQ(trace.arrivals.size(), 96U);
  std::set<Duration> times;
  for (const ReadArrival& arrival : trace.arrivals) times.insert(arrival.facts.time);
  EXPECT_EQ(times.size(), 61U);
}

TEST(Samples, Hpc2n) {
  const std::filesystem::path file = Sample("hpc2n_accasim_sample.swf");
  SKIP_WITHOUT(file);
  const ReadResult trace = Drain(OpenTrace(file));
  EXPECT_EQ(trace.format, "swf");
  EXPECT_EQ(trace.arrivals.size(), 25U);
  EXPECT_EQ(trace.counts.skipped, 0);
}

TEST(Samples, AzureFunctions2019HaveTheCountsOfTheirCells) {
  const std::filesystem::path file = Sample("azure_functions_2019_FORMAT_ONLY_invocations.csv");
  SKIP_WITHOUT(file);
  const ReadResult trace = Drain(OpenTrace(file));
  EXPECT_EQ(trace.format, "azure-functions-2019");
  EXPECT_EQ(trace.counts.rows, 4);
  int64_t cells = 0;
  std::set<std::pair<std::string, std::string>> seen;
  for (const ReadArrival& arrival : trace.arrivals) {
    EXPECT_TRUE(arrival.facts.duration.has_value()) << "the file of durations is beside it";
    if (seen.insert({arrival.tenant, arrival.cells.at("minute")}).second)
      cells += std::stoll(arrival.cells.at("count"));
  }
  EXPECT_EQ(cells, static_cast<int64_t>(trace.arrivals.size()));
}

TEST(Samples, DisbReal) {
  const std::filesystem::path file = Sample("disb_REAL.json");
  SKIP_WITHOUT(file);
  const ReadResult trace = Drain(OpenTrace(file));
  EXPECT_EQ(trace.format, "disb");
  EXPECT_EQ(trace.arrivals.size(), 1'684U);
  std::set<std::string> clients;
  for (const ReadArrival& arrival : trace.arrivals) clients.insert(arrival.tenant);
  EXPECT_EQ(clients.size(), 5U);
}

TEST(Samples, ElastisimExampleJobs) {
  const std::filesystem::path file = Sample("elastisim_example_jobs.json");
  SKIP_WITHOUT(file);
  const ReadResult trace = Drain(OpenTrace(file));
  EXPECT_EQ(trace.format, "elastisim");
  std::map<std::string, int> types;
  for (const ReadArrival& arrival : trace.arrivals) ++types[arrival.cells.at("type")];
  EXPECT_EQ(trace.arrivals.size(), 500U);
  EXPECT_EQ(types, (std::map<std::string, int>{{"rigid", 238},
                                               {"moldable", 163},
                                               {"malleable", 74},
                                               {"evolving", 19},
                                               {"adaptive", 6}}));
}

}  // namespace
}  // namespace cosched
