// What a report holds, and that its page can hold any text.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "experiments/report/cell_data.h"
#include "experiments/report/page.h"
#include "experiments/report/report_data.h"
#include "tests/experiments/analysis/comparison_fixture.h"

namespace cosched {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

class CellDataTest : public ::testing::Test {
 protected:
  CellRecords Records() { return CellRecords(folder_.path(), key_, {0, 1}); }
  Json Data() { return CellData(CellFolder(folder_.path(), key_)); }
  static TimePoint At(double seconds) { return TimePoint(FromSeconds(seconds)); }

  const TemporaryFolder folder_;
  const CellKey key_{"strict", Elasticity::kMalleable, 1};
};

TEST_F(CellDataTest, JobsAndTheirCoresOverTime) {
  {
    CellRecords records = Records();
    records.OnSubmitted(At(1), {{7}, "resnet20", {1, 2, 2}, Elasticity::kMalleable, 0});
    records.OnStarted(At(3), {7}, Place::Whole({0, 1}, {1, 2}));
    records.OnEnded(At(4.5), {7}, JobEnd::kFailed, "it said <b>");
    records.Finish("done", "");
  }
  const Json data = Data();
  EXPECT_EQ(data["all_jobs"], 1);
  const Json& job = data["jobs"][0];
  EXPECT_EQ(job[0], 7);
  EXPECT_EQ(job[1], "resnet20");
  EXPECT_EQ(job[3], 3.0);
  EXPECT_EQ(job[4], 4.5);
  EXPECT_EQ(job[5], "failed");
  EXPECT_EQ(job[6], "it said <b>");
  EXPECT_EQ(data["spans"], Json::parse("[[7, 1.0, 3.0, 0.0, 0], [7, 3.0, 4.5, 2.0, 2]]"));
}

TEST_F(CellDataTest, OfManyJobsTheFirstAreShown) {
  {
    CellRecords records = Records();
    for (int64_t id = 0; id < kMostShownJobs + 50; ++id) {
      const TimePoint time = At(static_cast<double>(id));
      records.OnSubmitted(time, {{id}, "resnet20", {1, 2, 2}, Elasticity::kMalleable, 0});
      records.OnStarted(time, {id}, Place::Whole({0, 1}, {1, 2}));
      if (id > 0)
        records.OnEnded(time + std::chrono::milliseconds(500), {id}, JobEnd::kFinished, "");
    }
    records.OnEnded(At(1000), {0}, JobEnd::kFinished, "");
    records.Finish("done", "");
  }
  const Json data = Data();
  EXPECT_EQ(data["all_jobs"], kMostShownJobs + 50);
  EXPECT_EQ(data["jobs"].size(), static_cast<size_t>(kMostShownJobs));
  EXPECT_EQ(data["spans"].size(), static_cast<size_t>(kMostShownJobs));
  // One that goes on holds its cores up to where the view ends.
  EXPECT_EQ(data["spans"].back(), Json::array({0, 0.0, double{kMostShownJobs}, 2.0, 2}));
}

// What would end or change the script is escaped, and read back as it was.
TEST(ReportPageTest, HoldsAnyText) {
  const std::string evil = "</script><script>alert(1)</script><!-- \xff é";
  const std::string page = ReportPage("a < b & \"c\"", {{"text", evil}});
  EXPECT_THAT(page, HasSubstr("<title>a &lt; b &amp; &quot;c&quot;</title>"));
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t from = page.find(begin) + begin.size();
  const std::string json = page.substr(from, page.find("</script>", from) - from);
  EXPECT_EQ(Json::parse(json)["text"], "</script><script>alert(1)</script><!-- \xef\xbf\xbd é");
}

TEST(ReportPageTest, NeedsNothingBesideItself) {
  const std::string page = ReportPage("x", {});
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  // Names of namespaces are no addresses.
  size_t addresses = 0;
  for (size_t at = 0; (at = page.find("http", at)) != std::string::npos; ++at) ++addresses;
  EXPECT_EQ(addresses, 1U);
}

class ReportDataTest : public ComparisonTest {};

TEST_F(ReportDataTest, HasTheComparisonAndEveryCell) {
  for (int trial = 1; trial <= 3; ++trial)
    Write({"strict", Elasticity::kRigid, trial}, {.seconds = 10.0 + trial});
  Write({"strict", Elasticity::kRigid, 4}, {.mark = "other programs"});
  WriteManifest({.trials = 4});
  const Json data = ReportData({Run("run")}, {.folder = Run("run"), .command = "cosched report"});
  ASSERT_EQ(data["sections"].size(), 1U);
  EXPECT_EQ(data["sections"][0]["comparison"]["sides"][0]["cells"], 4);
  const Json& run = data["runs"][0];
  EXPECT_EQ(run["host"].count("topology_xml"), 0U);
  ASSERT_EQ(run["cells"].size(), 4U);
  EXPECT_EQ(run["cells"][0]["values"].size(), run["columns"].size());
  EXPECT_EQ(run["cells"][3]["marks"], Json::parse(R"(["other programs"])"));
  EXPECT_EQ(run["cells"][0]["link"], "strict/rigid/1");
  EXPECT_EQ(run["cells"][0]["data"]["jobs"].size(), 1U);
  const size_t rows =
      run["cells"][0]["data"]["jobs"].size() + run["cells"][0]["data"]["spans"].size();
  const Json small =
      ReportData({Run("run")}, {.folder = Run("run"), .most_shown_rows = static_cast<int>(rows)});
  EXPECT_TRUE(small["runs"][0]["cells"][0].contains("data"));
  EXPECT_FALSE(small["runs"][0]["cells"][1].contains("data")) << "the page would be too large";
}

}  // namespace
}  // namespace cosched
