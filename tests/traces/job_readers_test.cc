// The traps of the job formats: local dates out of order, fields without names, numbers beyond 32
// bits, empty cells, unknown values.

#include <gtest/gtest.h>

#include "tests/traces/read_trace.h"

namespace cosched {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(Philly, UnsortedDatesAndABlankLastLine) {
  const ReadResult trace = ReadText(
      "timestamp,duration,num_gpus,gpu_time,cluster\n"
      "2017-10-03 03:14:36,120.5,2,241.5,vc2\n2017-10-01 00:00:00,60,8,480,vc1\n\n");
  EXPECT_EQ(trace.format, "philly");
  EXPECT_EQ(trace.counts.rows, 2);
  ASSERT_EQ(trace.arrivals.size(), 2U);
  EXPECT_EQ(trace.arrivals[0].tenant, "vc1");
  EXPECT_EQ(trace.arrivals[0].facts.cores_preferred, 8);
  EXPECT_EQ(trace.arrivals[0].facts.kind, Arrival::Kind::kJob);
  EXPECT_EQ(trace.arrivals[1].facts.duration, Duration(120'500'000'000));
  EXPECT_EQ(trace.arrivals[1].facts.size, 242);
  EXPECT_EQ(trace.arrivals[1].line, 2);
}

// The clock of 2017-11-05 showed the hour from 1 to 2 twice. It is taken as it stands.
TEST(Philly, TheHourThatHappensTwiceIsOneHour) {
  const ReadResult trace = ReadText(
      "timestamp,duration,num_gpus,gpu_time,cluster\n"
      "2017-11-05 01:30:00,1,1,1,first\n2017-11-05 01:10:00,1,1,1,second time\n"
      "2017-11-05 01:30:00,1,1,1,later in the file\n2017-11-05 02:00:00,1,1,1,after\n"
      "2017-11-05 00:59:59,1,1,1,before\n");
  std::vector<std::string> order;
  for (const ReadArrival& arrival : trace.arrivals) order.push_back(arrival.tenant);
  EXPECT_EQ(order, (std::vector<std::string>{"before", "second time", "first", "later in the file",
                                             "after"}));
  EXPECT_EQ((trace.arrivals[4].facts.time - trace.arrivals[0].facts.time).count(), 3601 * kSecond);
}

TEST(Gavel, TenFieldsArrivalIsTheTenth) {
  const ReadResult trace = ReadText(
      "ResNet-18 (batch size 128)\tpython3 main.py --data_dir=%s/cifar10 \tdir\t--num_steps\t1\t"
      "925982\t4\t1\t-1.000000\t0\n"
      "LM\tpython3 main.py\tdir\t--steps\t1\t9000000000000\t1\t1\t1.5\t46317.25\n");
  EXPECT_EQ(trace.format, "gavel");
  ASSERT_EQ(trace.arrivals.size(), 2U);
  EXPECT_EQ(trace.arrivals[0].tenant, "ResNet-18 (batch size 128)");
  EXPECT_EQ(trace.arrivals[0].cells.at("command"), "python3 main.py --data_dir=%s/cifar10 ");
  EXPECT_EQ(trace.arrivals[0].cells.at("SLO"), "-1.000000");
  EXPECT_EQ(trace.arrivals[0].facts.cores_preferred, 4);
  EXPECT_EQ(trace.arrivals[1].facts.size, 9'000'000'000'000);
  EXPECT_EQ(trace.arrivals[1].facts.time.count(), 46317 * kSecond + 250'000'000);
}

TEST(Gavel, SevenFieldsArrivalIsTheSixth) {
  const ReadResult trace = ReadText(
      "LM (batch size 5)\tcd %s/x && python main.py\t--steps\t1\t2061126\t188009.000000\t0\n"
      "LM\tcd\t--steps\t1\t5\t3\t2\n");
  ASSERT_EQ(trace.arrivals.size(), 2U);
  EXPECT_EQ(trace.arrivals[0].facts.time.count(), 3 * kSecond) << "sorted";
  EXPECT_EQ(trace.arrivals[0].facts.cores_preferred, 2);
  EXPECT_EQ(trace.arrivals[1].facts.size, 2061126);
  EXPECT_FALSE(trace.arrivals[1].facts.cores_preferred.has_value());
}

TEST(Gavel, AMalformedFirstRowDoesNotDecide) {
  const ReadResult trace =
      ReadText("rubbish\nLM\tcd\t-s\t1\t5\t3\t2\n", "gavel", {.on_bad_row = OnBadRow::kSkip});
  EXPECT_EQ(trace.arrivals.size(), 1U);
  EXPECT_EQ(trace.counts.skipped, 1);
  const InputErrorDetails error = RefusedText("LM\tcd\t-s\t1\t5\t3\t2\nLM\tcd\t-s\t1\t5.5\t3\t2\n");
  EXPECT_EQ(error.line, 2);
  EXPECT_EQ(error.key, "total_steps");
  RefusedText("LM\tcd\t-s\t1\t99999999999999999999\t3\t2\n");
}

TEST(Pollux, ColumnsAndExtraOnes) {
  const ReadResult trace = ReadText(
      "name,time,application,num_replicas,batch_size,user\n"
      "ncf-2,135,ncf,1,32768,u\ncifar10-0,107,cifar10,6,2048,\"a,b\"\n");
  EXPECT_EQ(trace.format, "pollux");
  ASSERT_EQ(trace.arrivals.size(), 2U);
  EXPECT_EQ(trace.arrivals[0].tenant, "cifar10");
  EXPECT_EQ(trace.arrivals[0].facts.time.count(), 107 * kSecond);
  EXPECT_EQ(trace.arrivals[0].facts.cores_preferred, 6);
  EXPECT_EQ(trace.arrivals[0].cells.at("user"), "a,b");
  EXPECT_EQ(trace.arrivals[1].cells.at("batch_size"), "32768");
}

TEST(AlibabaOpenb, EmptyFieldsAndLists) {
  const ReadResult trace = ReadText(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
      "deletion_time,scheduled_time\n"
      "openb-pod-0000,12000,16384,1,1000,,LS,Running,0,12537496,0\n"
      "openb-pod-0017,88500,327680,8,1000,V100M16|V100M32,Burstable,Succeeded,9437497,10769854,"
      "9437497\nopenb-pod-0022,4000,7629,1,460,,BE,Failed,9679175,9973826,\n");
  EXPECT_EQ(trace.format, "alibaba-openb");
  ASSERT_EQ(trace.arrivals.size(), 3U);
  EXPECT_EQ(trace.arrivals[0].tenant, "LS");
  EXPECT_EQ(trace.arrivals[0].facts.cores_preferred, 12);
  EXPECT_EQ(trace.arrivals[0].facts.duration, std::chrono::seconds(12537496));
  EXPECT_EQ(trace.arrivals[0].cells.at("gpu_spec"), "");
  EXPECT_EQ(trace.arrivals[1].facts.cores_preferred, 89) << "half a core needs one";
  EXPECT_EQ(trace.arrivals[1].facts.size, 8000);
  EXPECT_EQ(trace.arrivals[1].cells.at("gpu_spec"), "V100M16|V100M32");
  EXPECT_FALSE(trace.arrivals[2].facts.duration.has_value()) << "it never ran";
}

constexpr const char* kSwfJobs =
    "  184   561553      0     61   16     -1    -1   16  43200 819200  1   6   1  -1 -1  1 -1 -1\n"
    " 5414  3801279 129908  26614   36  26614.5 25600   -1  29400    -1  1   -1   1  -1 -1  1 -1 "
    "-1\n\t9 3801000 -1 -1 -1 -1 -1 -1 -1 -1 0 1 1 -1 -1 1 -1 -1\n";

TEST(Swf, UnknownValuesLeadingBlanksAndHolesInTheNumbers) {
  const ReadResult trace = ReadText(kSwfJobs);
  EXPECT_EQ(trace.format, "swf");
  EXPECT_EQ(trace.columns.size(), 18U);
  ASSERT_EQ(trace.arrivals.size(), 3U);
  EXPECT_EQ(trace.arrivals[0].facts.time.count(), 561553 * kSecond);
  EXPECT_EQ(trace.arrivals[0].facts.duration, std::chrono::seconds(61));
  EXPECT_EQ(trace.arrivals[0].facts.cores_preferred, 16);
  EXPECT_EQ(trace.arrivals[0].tenant, "6");
  EXPECT_EQ(trace.arrivals[0].cells.at("requested_memory"), "819200");
  EXPECT_EQ(trace.arrivals[1].cells.at("job_number"), "9") << "sorted by submit time";
  EXPECT_FALSE(trace.arrivals[1].facts.duration.has_value());
  EXPECT_FALSE(trace.arrivals[1].facts.cores_preferred.has_value());
  EXPECT_EQ(trace.arrivals[2].facts.cores_preferred, 36) << "what was allocated";
  EXPECT_EQ(trace.arrivals[2].tenant, "");
}

TEST(Swf, HeaderCommentsAreOptionalAndStandAnywhere) {
  const ReadResult trace =
      ReadText("; Version: 2.2\n;UnixStartTime: 1027839845\n\n" + std::string(kSwfJobs) + " ; end");
  EXPECT_EQ(trace.format, "swf");
  EXPECT_EQ(trace.counts.rows, 3);
}

TEST(Swf, MalformedRows) {
  EXPECT_EQ(RefusedText("; x\n1 2 3\n", "swf").line, 2);
  const std::string job(kSwfJobs, std::string(kSwfJobs).find('\n'));
  EXPECT_EQ(RefusedText(job + " 7\n", "swf").line, 1);
  EXPECT_EQ(RefusedText("1 -1 0 61 16 -1 -1 16 1 1 1 6 1 -1 -1 1 -1 -1\n").key, "submit_time");
  EXPECT_EQ(RefusedText("1 5 0 x 16 -1 -1 16 1 1 1 6 1 -1 -1 1 -1 -1\n", "swf").key, "run_time");
}

// 18 counts in one line may be either; a job that follows decides nothing about the first line.
TEST(OpenTrace, AmbiguousContentListsTheCandidates) {
  const std::string counts = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n";
  const InputErrorDetails error = RefusedText(counts);
  EXPECT_NE(error.problem.find("several"), std::string::npos);
  EXPECT_NE(error.allowed.find("rate-series, swf"), std::string::npos) << error.allowed;
  EXPECT_EQ(ReadText(counts, "rate-series").arrivals.size(), 171U);
  EXPECT_EQ(ReadText(counts, "swf").arrivals.size(), 1U);
}

}  // namespace
}  // namespace cosched
