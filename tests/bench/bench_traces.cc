// How fast traces are read and described, and in how much memory, beside pandas.read_csv on the
// very same files in the same run. Repetitions of the three are interleaved, so that a slow moment
// of the machine hits all of them.
//
//   bench_traces [ROWS [REPETITIONS]]      files of about 36 bytes a row, in a temporary folder
//
// read: OpenTrace and every row, in this process. describe: the command as a user runs it, start of
// the process included. pandas: read_csv alone, timed in a python that has imported it; it makes a
// table and describes nothing. Peak memory is the whole process's, from files of ROWS / 10 and
// ROWS.

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/random.h"
#include "tests/bench/quantile.h"
#include "tests/paths.h"
#include "traces/input/formats.h"

namespace cosched {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kRows = 3'000'000;
constexpr int kRepetitions = 5;

struct Kind {
  const char* name;
  const char* header;
  // A row at this time, in units of 100 ns.
  void (*append)(int64_t time, Random* random, std::string* row);
};

int Tokens(Random* random, double mean) { return 1 + static_cast<int>(random->Exponential(mean)); }

std::string Seconds(int64_t time) {
  return fmt::format("{}.{:07}", time / 10'000'000, time % 10'000'000);
}

constexpr std::array<const char*, 4> kWorkloads = {"resnet20", "lenet5", "mobilenet_v2", "vgg11"};

const std::array kKinds = {
    Kind{"azure-llm", "TIMESTAMP,ContextTokens,GeneratedTokens",
         [](int64_t time, Random* random, std::string* row) {
           const int64_t seconds = time / 10'000'000;
           fmt::format_to(std::back_inserter(*row), "2023-11-{:02} {:02}:{:02}:{:02}.{:07},{},{}\n",
                          1 + seconds / 86'400, seconds / 3600 % 24, seconds / 60 % 60,
                          seconds % 60, time % 10'000'000, Tokens(random, 1150),
                          Tokens(random, 210));
         }},
    Kind{"cosched", "arrival_s,workload,cores_min,cores_preferred,cores_max,priority,steps",
         [](int64_t time, Random* random, std::string* row) {
           fmt::format_to(std::back_inserter(*row), "{},{},1,{},4,{},{}\n", Seconds(time),
                          kWorkloads[random->Below(kWorkloads.size())], 1 + random->Below(4),
                          random->Below(3), Tokens(random, 200));
         }},
    Kind{"cosched, 2 columns", "arrival_s,workload",
         [](int64_t time, Random* random, std::string* row) {
           fmt::format_to(std::back_inserter(*row), "{},{}\n", Seconds(time),
                          kWorkloads[random->Below(kWorkloads.size())]);
         }},
};

// A Poisson process over 25 days, whatever the number of rows.
void WriteTrace(const Kind& kind, int64_t rows, const std::filesystem::path& file) {
  const double mean_gap = 25.0 * 86'400 * 1e7 / static_cast<double>(rows);
  std::ofstream stream(file);
  stream << kind.header << '\n';
  Random random(1);
  double time = 0;
  std::string text;
  for (int64_t i = 0; i < rows; ++i) {
    time += random.Exponential(mean_gap);
    kind.append(static_cast<int64_t>(time), &random, &text);
    if (text.size() > (1 << 20) || i + 1 == rows) {
      stream << text;
      text.clear();
    }
  }
  CHECK(stream.good()) << "can't write " << file;
}

double Seconds(SteadyClock::duration time) { return std::chrono::duration<double>(time).count(); }

double ReadSeconds(const std::filesystem::path& file, int64_t rows) {
  const SteadyClock::time_point start = SteadyClock::now();
  const OpenedTrace trace = OpenTrace(file);
  int64_t arrivals = 0;
  for (Arrival arrival; trace.reader->Next(&arrival);) ++arrivals;
  const double seconds = Seconds(SteadyClock::now() - start);
  CHECK(arrivals == rows) << arrivals;
  return seconds;
}

struct Ran {
  double seconds = 0;
  double peak_mb = 0;
  std::string out;
};

// Runs a command to its end, with its stdout in a file.
Ran RunCommand(std::vector<std::string> command, const std::filesystem::path& out) {
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const SteadyClock::time_point start = SteadyClock::now();
  pid_t pid = -1;
  CHECK(posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ) == 0) << command[0];
  int status = 0;
  rusage usage = {};
  CHECK(wait4(pid, &status, 0, &usage) == pid);
  const double seconds = Seconds(SteadyClock::now() - start);
  posix_spawn_file_actions_destroy(&actions);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command[0] << " failed";
  std::ifstream stream(out);
  return {seconds, static_cast<double>(usage.ru_maxrss) / 1024,
          std::string(std::istreambuf_iterator<char>(stream), {})};
}

Ran RunDescribe(const std::filesystem::path& file, const std::filesystem::path& out) {
  return RunCommand({CoschedBinary(), "trace", "describe", file.string()}, out);
}

Ran RunPandas(const std::filesystem::path& file, const std::filesystem::path& out) {
  constexpr const char* kScript =
      "import sys, time, pandas\n"
      "start = time.perf_counter()\n"
      "pandas.read_csv(sys.argv[1])\n"
      "print(time.perf_counter() - start)\n";
  Ran ran = RunCommand({"/usr/bin/python3", "-c", kScript, file.string()}, out);
  ran.seconds = std::strtod(ran.out.c_str(), nullptr);
  return ran;
}

void PrintRow(const char* what, std::vector<double> seconds, int64_t rows, double megabytes,
              double pandas_s) {
  const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
  const double median = Median(seconds);
  fmt::print("  {:<10} {:7.3f} s [{:.3f} {:.3f}]  {:6.2f} million rows/s  {:5.0f} MB/s", what,
             median, *least, *most, static_cast<double>(rows) / median / 1e6, megabytes / median);
  if (pandas_s > 0) fmt::print("  {:5.2f} x pandas", pandas_s / median);
  fmt::print("\n");
}

void Compare(const Kind& kind, int64_t rows, int repetitions, const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "trace.csv", shorter = folder / "shorter.csv";
  const std::filesystem::path out = folder / "out";
  WriteTrace(kind, rows, file);
  WriteTrace(kind, rows / 10, shorter);
  const double megabytes = static_cast<double>(std::filesystem::file_size(file)) / 1e6;
  std::vector<double> read, describe, pandas;
  double describe_mb = 0, pandas_mb = 0;
  for (int i = 0; i < repetitions; ++i) {
    read.push_back(ReadSeconds(file, rows));
    const Ran described = RunDescribe(file, out);
    describe.push_back(described.seconds);
    describe_mb = std::max(describe_mb, described.peak_mb);
    const Ran loaded = RunPandas(file, out);
    pandas.push_back(loaded.seconds);
    pandas_mb = std::max(pandas_mb, loaded.peak_mb);
  }
  fmt::print("{}: {} rows, {:.1f} MB; median [min max] of {}\n", kind.name, rows, megabytes,
             repetitions);
  PrintRow("read", read, rows, megabytes, Median(pandas));
  PrintRow("describe", describe, rows, megabytes, Median(pandas));
  PrintRow("pandas", pandas, rows, megabytes, 0);
  fmt::print(
      "  peak memory of a tenth of the file and of all of it: describe {:.1f} and {:.1f} MB, "
      "pandas {:.1f} and {:.1f} MB\n",
      RunDescribe(shorter, out).peak_mb, describe_mb, RunPandas(shorter, out).peak_mb, pandas_mb);
}

int Main(int argc, char** argv) {
  const int64_t rows = argc > 1 ? std::atoll(argv[1]) : kRows;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : kRepetitions;
  if (argc > 3 || rows < 10 || repetitions < 1) {
    fmt::print(stderr, "bench_traces [ROWS [REPETITIONS]]: 10 rows or more, once or more\n");
    return 2;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "bench-traces-XXXXXX").string();
  CHECK(mkdtemp(folder.data()) != nullptr) << folder;
  for (const Kind& kind : kKinds) Compare(kind, rows, repetitions, folder);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace cosched

int main(int argc, char** argv) { return cosched::Main(argc, argv); }
