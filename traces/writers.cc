#include "traces/writers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>

#include "engine/base/error.h"

namespace cosched {

TraceTarget CoschedTarget();  // writers/cosched.cc
TraceTarget SwfTarget();      // writers/swf.cc
TraceTarget VidurTarget();    // writers/vidur.cc

std::span<const TraceTarget> TraceTargets() {
  static const std::array kTargets = {CoschedTarget(), SwfTarget(), VidurTarget()};
  return kTargets;
}

const TraceTarget& FindTraceTarget(std::string_view name) {
  std::string names;
  for (const TraceTarget& target : TraceTargets()) {
    if (target.name == name) return target;
    names += (names.empty() ? "" : ", ") + std::string(target.name);
  }
  throw InputError({.file = "command line",
                    .key = "--to",
                    .problem = fmt::format("\"{}\"", name),
                    .allowed = names});
}

void AppendSeconds(Duration time, std::string* out) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t seconds = time.count() / kSecond;
  const int64_t nanoseconds = std::abs(time.count() % kSecond);
  if (time.count() < 0 && seconds == 0) *out += '-';
  fmt::format_to(std::back_inserter(*out), "{}", seconds);
  if (nanoseconds == 0) return;
  fmt::format_to(std::back_inserter(*out), ".{:09}", nanoseconds);
  out->erase(out->find_last_not_of('0') + 1);
}

Duration Origin(const TraceSurvey& survey) {
  constexpr Duration kDates = std::chrono::seconds(631'152'000);  // 1990
  const bool near = survey.first >= Duration{0} && survey.first < kDates;
  return near ? Duration{0} : survey.first;
}

LossList& LossList::AddOrigin(Duration origin) {
  if (origin == Duration{0}) return *this;
  std::string seconds;
  AppendSeconds(origin, &seconds);
  lines_.push_back(fmt::format("the origin of time: 0 is what was {} s", seconds));
  return *this;
}

LossList& LossList::Add(int64_t count, std::string_view what, std::string_view becomes) {
  if (count == 0) return *this;
  const std::string of =
      count == survey_.arrivals() ? "all" : fmt::format("{} of {}", count, survey_.arrivals());
  lines_.push_back(
      fmt::format("{} ({} arrivals){}{}", what, of, becomes.empty() ? "" : ": ", becomes));
  return *this;
}

LossList& LossList::Add(Fact fact, std::string_view what, std::string_view becomes) {
  return Add(survey_.having[fact], what, becomes);
}

LossList& LossList::AddColumns(std::span<const size_t> held) {
  std::string names;
  for (size_t i = 0; i < survey_.columns.size(); ++i) {
    if (survey_.repeats[i].any() || std::find(held.begin(), held.end(), i) != held.end()) continue;
    names += (names.empty() ? "" : ", ") + survey_.columns[i];
  }
  if (!names.empty()) lines_.push_back("columns: " + names);
  return *this;
}

}  // namespace cosched
