// `cosched trace describe` and `convert` as a user meets them: what they print, what they refuse,
// what they leave behind.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/experiments/cli/cli_fixture.h"
#include "tests/paths.h"

namespace cosched {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class TraceCliTest : public CliTest {
 protected:
  TraceCliTest() {
    WriteText(folder_.path() / "llm.csv",
              "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
              "2023-11-16 18:15:46.6805900,374,44\r\n"
              "2023-11-16 18:15:50.9951690,396,109\r\n"
              "2023-11-16 18:15:51.2224670,879,55\r\n"
              "2023-11-16 18:16:51.2224671,91,16");
    WriteText(folder_.path() / "jobs.csv",
              "arrival_s,workload,cores_min,cores_preferred,cores_max,priority,steps\n"
              "0.5,resnet20,,,,,\n"
              "0.5,lenet5,1,2,2,0,40\n"
              "100.000000001,\"vgg, 16\",,4,,-1,5\n");
    WriteText(folder_.path() / "bad.csv", "arrival_s,workload\n0,a\nsoon,a\n2,a\n2,a,b\n3,b\n");
  }

  nlohmann::json Described(const std::string& file) {
    const Ended ended = Run({"trace", "describe", file, "--json"});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(std::count(ended.out.begin(), ended.out.end(), '\n'), 1);
    return nlohmann::json::parse(ended.out);
  }

  std::string Converted(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"trace", "convert"});
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    return ended.out;
  }

  std::string Text(const std::string& file) { return ReadText(folder_.path() / file); }
};

TEST_F(TraceCliTest, DescribesInPlainTextWhereThereIsNoTerminal) {
  const Ended ended = Run({"trace", "describe", "llm.csv"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  for (const char* line :
       {"format          azure-llm\n", "arrivals        4 requests\n",
        "span            64.5418771 s (1 min 5 s)\n", "first arrival   2023-11-16 18:15:46.68059\n",
        "busiest second  2 arrivals (2 /s)"}) {
    EXPECT_THAT(ended.out, HasSubstr(line));
  }
  EXPECT_THAT(ended.out, HasSubstr("ContextTokens"));
  EXPECT_THAT(ended.out, Not(HasSubstr("TIMESTAMP")));
  EXPECT_THAT(ended.out, Not(HasSubstr("█")));
}

TEST_F(TraceCliTest, DescribesAsJson) {
  const nlohmann::json llm = Described("llm.csv");
  EXPECT_EQ(llm["format"], "azure-llm");
  EXPECT_EQ(llm["arrivals"], 4);
  EXPECT_EQ(llm["span_ns"], 64'541'877'100);
  EXPECT_EQ(llm["first_ns"], 1'700'158'546'680'590'000);
  EXPECT_EQ(llm["skipped"], 0);
  EXPECT_EQ(llm["windows"][0]["width_s"], 1);
  EXPECT_EQ(llm["windows"][0]["busiest"], 2);
  EXPECT_EQ(llm["windows"][0]["windows"], 65);
  EXPECT_FALSE(llm.contains("tenants"));
  ASSERT_EQ(llm["numbers"].size(), 3);
  EXPECT_EQ(llm["numbers"][1]["name"], "ContextTokens");
  EXPECT_EQ(llm["numbers"][1]["sum"], 374 + 396 + 879 + 91);
  const nlohmann::json jobs = Described("jobs.csv");
  EXPECT_EQ(jobs["jobs"], 3);
  EXPECT_EQ(jobs["between_arrivals"]["tied"], 1);
  EXPECT_EQ(jobs["tenants"]["tenants"], 3);
}

TEST_F(TraceCliTest, DescribesWhatASpecificationGenerates) {
  const std::string spec = InSource("experiments/examples/trace_generate.toml");
  const nlohmann::json drawn = Described(spec);
  EXPECT_EQ(drawn["format"], "generated");
  ASSERT_EQ(Run({"trace", "generate", spec, "--out", "drawn.csv"}).exit_code, 0);
  const nlohmann::json read = Described("drawn.csv");
  for (const char* same : {"arrivals", "span_ns", "rate"}) EXPECT_EQ(drawn[same], read[same]);
  EXPECT_EQ(drawn["between_arrivals"]["cv"], read["between_arrivals"]["cv"]);
}

TEST_F(TraceCliTest, MalformedRowsEndItOrAreCountedAndTold) {
  ExpectRefused({"trace", "describe", "bad.csv"}, {"bad.csv:3", "arrival_s", "soon"});
  const Ended ended = Run({"trace", "describe", "bad.csv", "--on-bad-row", "skip"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("skipped         2 of 5 rows, malformed; the first: bad.csv:3"));
  EXPECT_THAT(ended.out, HasSubstr("arrivals        3 jobs"));
  EXPECT_EQ(Run({"trace", "describe", "bad.csv", "--on-bad-row", "skip", "--json"}).exit_code, 0);
  EXPECT_THAT(Converted({"bad.csv", "to.csv", "--to", "cosched", "--on-bad-row", "skip"}),
              HasSubstr("skipped: 2 malformed rows"));
}

TEST_F(TraceCliTest, BadInputIsOneMessageAndExitTwo) {
  ExpectRefused({"trace", "describe", "missing.csv"}, {"missing.csv", "No such file"});
  ExpectRefused({"trace", "describe", "llm.csv", "--format", "csv"}, {"csv", "azure-llm"});
  ExpectRefused({"trace", "describe", "llm.csv", "--on-bad-row", "ignore"},
                {"--on-bad-row", "ignore", "error or skip"});
  ExpectRefused({"trace", "convert", "llm.csv", "to.csv", "--to", "json"},
                {"--to", "json", "cosched, swf, vidur"});
  ExpectRefused({"trace", "convert", "jobs.csv", "to.csv", "--to", "vidur"},
                {"--to", "vidur needs", "cosched has no prompt tokens"});
  ExpectRefused({"trace", "convert", "llm.csv", "llm.csv", "--to", "cosched"}, {"OUT", "another"});
  ExpectRefused({"trace", "convert", "/dev/null", "to.csv", "--to", "cosched"},
                {"/dev/null", "no regular file"});
  for (const char* window : {"60", "a:b", "-1:2", "0:0", "1e10:", "0:-5"}) {
    ExpectRefused({"trace", "convert", "llm.csv", "to.csv", "--to", "cosched", "--window", window},
                  {"--window", window, "START:LENGTH"});
  }
  ExpectRefused({"trace", "convert", "llm.csv", "to.csv", "--to", "cosched", "--window", "1000:"},
                {"llm.csv", "no arrival is left"});
  for (const char* sample : {"0", "1.5", "some"}) {
    ExpectRefused({"trace", "convert", "llm.csv", "to.csv", "--to", "cosched", "--sample", sample},
                  {"--sample", sample, "share"});
  }
  for (const char* speedup : {"0", "-2", "inf", "nan"}) {
    ExpectRefused(
        {"trace", "convert", "llm.csv", "to.csv", "--to", "cosched", "--speedup", speedup},
        {"--speedup", speedup, "factor"});
  }
  EXPECT_EQ(Run({"trace"}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "to.csv"));
}

TEST_F(TraceCliTest, ConvertsWithoutLossWhereTheTargetCanHoldIt) {
  EXPECT_THAT(Converted({"jobs.csv", "out.csv", "--to", "cosched"}), HasSubstr("lost: nothing\n"));
  EXPECT_EQ(Text("out.csv"),
            "arrival_s,cores_min,cores_preferred,cores_max,priority,workload,steps\n"
            "0.5,,,,,resnet20,\n"
            "0.5,1,2,2,0,lenet5,40\n"
            "100.000000001,,4,,-1,\"vgg, 16\",5\n");
  Converted({"out.csv", "again.csv", "--to", "cosched"});
  EXPECT_EQ(Text("again.csv"), Text("out.csv"));
  EXPECT_THAT(Converted({"llm.csv", "llm_ours.csv", "--to", "cosched"}),
              HasSubstr("lost: nothing\n"));
  EXPECT_EQ(Text("llm_ours.csv"),
            "arrival_s,kind,size,ContextTokens,GeneratedTokens\n"
            "1700158546.68059,request,418,374,44\n"
            "1700158550.995169,request,505,396,109\n"
            "1700158551.222467,request,934,879,55\n"
            "1700158611.2224671,request,107,91,16\n");
}

TEST_F(TraceCliTest, ABatchLogComesBackFromOurFormatFieldByField) {
  const std::string rows =
      "184 561553 0 61 16 -1 -1 16 43200 819200 1 6 1 -1 -1 1 -1 -1\n"
      "5414 3801279 129908 -1 36 26614.5 25600 -1 29400 -1 5 -1 1 3 2 1 184 60\n";
  WriteText(folder_.path() / "log.swf", "; UnixStartTime: 0\n" + rows);
  EXPECT_THAT(Converted({"log.swf", "ours.csv", "--to", "cosched"}), HasSubstr("lost: nothing\n"));
  EXPECT_THAT(Converted({"ours.csv", "back.swf", "--to", "swf"}), HasSubstr("lost: nothing\n"));
  EXPECT_TRUE(Text("back.swf").ends_with("\n" + rows)) << Text("back.swf");
}

TEST_F(TraceCliTest, SaysWhatIsLost) {
  EXPECT_EQ(Converted({"llm.csv", "out.csv", "--to", "vidur"}),
            "out.csv: 4 arrivals from 4 rows of llm.csv (azure-llm)\n"
            "lost: the origin of time: 0 is what was 1700158546.68059 s\n");
  EXPECT_EQ(Text("out.csv"),
            "arrived_at,num_prefill_tokens,num_decode_tokens\n"
            "0,374,44\n4.314579,396,109\n4.541877,879,55\n64.5418771,91,16\n");
  EXPECT_EQ(Converted({"jobs.csv", "out.swf", "--to", "swf"}),
            "out.swf: 3 arrivals from 3 rows of jobs.csv (cosched)\n"
            "lost: fractions of a second (all arrivals): times are rounded\n"
            "lost: names of tenants (all arrivals): numbered by first arrival, unless they are "
            "numbers\n"
            "lost: size (2 of 3 arrivals)\n"
            "lost: cores_min and cores_max (1 of 3 arrivals): cores_preferred is kept\n"
            "lost: priority (2 of 3 arrivals)\n");
  EXPECT_EQ(Text("out.swf"),
            "; Version: 2.2\n"
            "; Conversion: cosched trace convert, from the format cosched\n"
            "; MaxJobs: 3\n"
            "; MaxRecords: 3\n"
            "; MaxProcs: 4\n"
            "1 1 -1 -1 -1 -1 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1\n"
            "2 1 -1 -1 -1 -1 -1 2 -1 -1 -1 2 -1 -1 -1 -1 -1 -1\n"
            "3 100 -1 -1 -1 -1 -1 4 -1 -1 -1 3 -1 -1 -1 -1 -1 -1\n");
}

TEST_F(TraceCliTest, ConvertsAPart) {
  Converted({"llm.csv", "out.csv", "--to", "vidur", "--window", "4:10", "--speedup", "2"});
  EXPECT_EQ(Text("out.csv"),
            "arrived_at,num_prefill_tokens,num_decode_tokens\n0,396,109\n0.113649,879,55\n");
  // Arrivals have moved, so their own column no longer tells the time: it stays, and its name is
  // one that does not make the file look like Azure's.
  Converted({"llm.csv", "fast.csv", "--to", "cosched", "--window", ":5", "--speedup", "2"});
  EXPECT_THAT(Text("fast.csv"),
              HasSubstr("arrival_s,kind,size,azure-llm_TIMESTAMP,azure-llm_ContextTokens"));
  EXPECT_EQ(Described("fast.csv")["format"], "cosched");
  std::string rows = "arrival_s,workload\n";
  for (int i = 0; i < 1000; ++i) rows += std::to_string(i) + ",a\n";
  WriteText(folder_.path() / "many.csv", rows);
  Converted({"many.csv", "a.csv", "--to", "cosched", "--sample", "0.5", "--seed", "3"});
  Converted({"many.csv", "b.csv", "--to", "cosched", "--sample", "0.5", "--seed", "3"});
  Converted({"many.csv", "c.csv", "--to", "cosched", "--sample", "0.5", "--seed", "4"});
  EXPECT_EQ(Text("a.csv"), Text("b.csv"));
  EXPECT_NE(Text("a.csv"), Text("c.csv"));
  EXPECT_NEAR(Described("a.csv")["arrivals"].get<double>(), 500, 80);
}

TEST_F(TraceCliTest, ConvertLeavesAllOrNothing) {
  WriteText(folder_.path() / "out.csv", "old\n");
  ExpectRefused({"trace", "convert", "bad.csv", "out.csv", "--to", "cosched"}, {"bad.csv:3"});
  EXPECT_EQ(Text("out.csv"), "old\n");
  const Ended ended = Run({"trace", "convert", "llm.csv", "none/out.csv", "--to", "cosched"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("none/out.csv"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_NE(entry.path().extension(), ".partial") << entry.path();
}

}  // namespace
}  // namespace cosched
