#include "experiments/records/timeline.h"

#include <nlohmann/json.hpp>

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

// Rows are threads in the trace format; Perfetto groups them by process.
constexpr int kDecisionProcess = 1;
constexpr int kJobProcess = 2;
constexpr int kCounterProcess = 3;

double TraceMicroseconds(Duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

double TraceMicroseconds(TimePoint time) { return TraceMicroseconds(time.time_since_epoch()); }

// A reason or a name may hold bytes that are no UTF-8 (a tenant's last words).
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json Metadata(const char* kind, int process, int64_t thread, const std::string& name) {
  return {
      {"ph", "M"}, {"name", kind}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

}  // namespace

Timeline::Timeline(const std::filesystem::path& path, size_t buffer) : file_(path, buffer) {
  file_.Write("[\n");
  Write(Dump(Metadata("process_name", kDecisionProcess, 0, "policy")));
  Write(Dump(Metadata("thread_name", kDecisionProcess, 0, "decisions")));
  Write(Dump(Metadata("process_name", kJobProcess, 0, "jobs")));
  Write(Dump(Metadata("process_name", kCounterProcess, 0, "machine")));
}

void Timeline::NameJob(JobId job, const std::string& name) {
  Write(Dump(Metadata("thread_name", kJobProcess, job.value, name)));
}

void Timeline::Slice(JobId job, TimePoint begin, TimePoint end, const std::string& name,
                     const std::string& detail) {
  Write(Dump({{"ph", "X"},
              {"name", name},
              {"pid", kJobProcess},
              {"tid", job.value},
              {"ts", TraceMicroseconds(begin)},
              {"dur", TraceMicroseconds(end - begin)},
              {"args", {{"detail", detail}}}}));
}

void Timeline::Counter(TimePoint time, const std::string& name, int value) {
  Write(Dump({{"ph", "C"},
              {"name", name},
              {"pid", kCounterProcess},
              {"tid", 0},
              {"ts", TraceMicroseconds(time)},
              {"args", {{"value", value}}}}));
}

void Timeline::Decision(TimePoint time, const std::string& event, const std::string& allocation) {
  Write(Dump({{"ph", "i"},
              {"name", event},
              {"pid", kDecisionProcess},
              {"tid", 0},
              {"ts", TraceMicroseconds(time)},
              {"s", "g"},
              {"args", {{"allocation", allocation.empty() ? "nothing changed" : allocation}}}}));
}

void Timeline::Finish() {
  file_.Write("\n]\n");
  file_.Sync();
}

void Timeline::Write(const std::string& event) {
  file_.Write((first_ ? "" : ",\n") + event);
  first_ = false;
}

}  // namespace cosched
