#include "experiments/watch/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "engine/base/word_wrap.h"

namespace cosched {
namespace {

constexpr size_t kFewestDecisions = 4, kMostServices = 6;
constexpr char kCut = '~';  // What goes on, but not here.
constexpr size_t kColumns = 80, kHeadWidth = 8;

// One line; anything that is not printable ASCII is a '?'.
std::string Printable(std::string_view text) {
  std::string printable;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) == 0x80) continue;  // A character's further bytes.
    printable.push_back(byte >= 0x20 && byte < 0x7F ? c : '?');
  }
  return printable;
}

std::string ShortTime(double seconds) {
  if (seconds < 600) return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 2 : 1);
  const auto whole = std::llround(seconds);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string AboutTime(double seconds) {
  const auto whole = std::llround(seconds);
  if (whole < 60) return fmt::format("about {} s", whole);
  if (whole < 3600) return fmt::format("about {}:{:02} min", whole / 60, whole % 60 / 10 * 10);
  return fmt::format("about {:.1f} h", seconds / 3600);
}

std::string RateText(double per_second) {
  return fmt::format("{:.{}f}", per_second, per_second < 10 ? 2 : per_second < 100 ? 1 : 0);
}

// "2", "1.5"
std::string AmountText(double amount) {
  const std::string text = fmt::format("{:.1f}", amount);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

std::string Bar(double share, size_t width) {
  share = std::clamp(share, 0.0, 1.0);
  const auto filled = static_cast<size_t>(std::lround(share * static_cast<double>(width)));
  return std::string(filled, '#') + std::string(width - filled, '.');
}

FrameLine Plain(std::string text) { return {{std::move(text), FrameStyle::kPlain}}; }

size_t Width(const FrameLine& line) {
  size_t width = 0;
  for (const FrameSpan& span : line) width += span.text.size();
  return width;
}

std::string Cut(const std::string& text, size_t width) {
  if (text.size() <= width) return text;
  return width == 0 ? "" : text.substr(0, width - 1) + kCut;
}

// What does not fit is the run's name.
FrameLine Title(const FrameSubject& subject, size_t columns) {
  FrameLine line = {{"cosched watch  ", FrameStyle::kFaint},
                    {Printable(subject.experiment), FrameStyle::kTitle}};
  const bool well = subject.status == "running" || subject.status == "done";
  const std::string status = subject.status == "stopped"   ? "stopped, not over"
                             : subject.status == "running" ? "the run goes on"
                                                           : "the run is over: " + subject.status;
  const size_t around = Width(line) + status.size() + 2;
  const std::string run =
      Cut("  " + Printable(subject.run), columns > around ? columns - around : 0);
  const size_t used = around + run.size();
  line.push_back(
      {run + std::string(used < columns ? columns - used + 2 : 2, ' '), FrameStyle::kPlain});
  line.push_back({status, well ? FrameStyle::kGood : FrameStyle::kBad});
  return line;
}

FrameLine Cells(const FrameSubject& subject, size_t columns) {
  const size_t ended = subject.done + subject.failed;
  const size_t left = subject.cells - std::min(subject.cells, ended + subject.running);
  const double share =
      subject.cells == 0 ? 0 : static_cast<double>(ended) / static_cast<double>(subject.cells);
  std::string text = fmt::format("{} of {} done", subject.done, subject.cells);
  const char* const what = subject.status == "running" ? "running" : "not finished";
  if (subject.running > 0) text += fmt::format(", {} {}", subject.running, what);
  text += fmt::format(", {}{} left", subject.at_most ? "at most " : "", left);
  if (subject.seconds_left) text += ", " + AboutTime(*subject.seconds_left);
  std::string bad;
  if (subject.failed > 0) bad += fmt::format(", {} failed", subject.failed);
  if (subject.marked > 0) bad += fmt::format(", {} marked", subject.marked);
  const size_t used = 8 + 4 + text.size() + bad.size();
  const size_t bar = std::min<size_t>(columns > used ? columns - used : 0, 20);
  FrameLine line = {{"cells   ", FrameStyle::kHead},
                    {(bar < 5 ? "" : "[" + Bar(share, bar) + "]  ") + text, FrameStyle::kPlain}};
  if (!bad.empty()) line.push_back({bad, FrameStyle::kBad});
  return line;
}

FrameLine CellLine(const FrameSubject& subject) {
  FrameLine line = {{"cell    ", FrameStyle::kHead}};
  if (subject.cell == 0) {
    line.push_back({"none has records yet", FrameStyle::kPlain});
    return line;
  }
  line.push_back(
      {fmt::format("{}: {}, ", subject.cell, Printable(subject.cell_name)), FrameStyle::kPlain});
  const bool failed = subject.cell_state.starts_with("failed");
  line.push_back({Printable(subject.cell_state), failed ? FrameStyle::kBad : FrameStyle::kGood});
  return line;
}

// Over several lines, with its name before the first.
void AddWrapped(const char* head, const std::string& text, FrameStyle style, size_t columns,
                Frame* frame) {
  if (text.empty()) return;
  const std::string name = fmt::format("{:<{}}", head, kHeadWidth);
  const size_t room = columns > 2 * kHeadWidth ? columns - kHeadWidth : columns;
  bool first = true;
  for (const std::string& line : WordsInLines(Printable(text), room)) {
    frame->push_back(
        {{std::exchange(first, false) ? name : std::string(kHeadWidth, ' '), FrameStyle::kHead},
         {line, style}});
  }
}

FrameLine TimeLine(const FrameSubject& subject, size_t columns) {
  const std::string what = subject.live      ? "now"
                           : subject.playing ? fmt::format("playing at {:g}x", *subject.playing)
                           : subject.at_end  ? "its end"
                                             : "looking back";
  const std::string text =
      fmt::format("  {} of {}, {}", ShortTime(subject.moment.time), ShortTime(subject.end_s), what);
  const size_t width = std::clamp<size_t>(columns, 60, 110) - kHeadWidth - 2 - 36;
  std::string slider(width, '-');
  const double share = subject.end_s > 0 ? subject.moment.time / subject.end_s : 1;
  const auto at = static_cast<size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(width - 1));
  for (size_t i = 0; i < at; ++i) slider[i] = '=';
  slider[at] = '|';
  return {{"time    ", FrameStyle::kHead},
          {"[" + slider + "]", FrameStyle::kPlain},
          {text, subject.live     ? FrameStyle::kGood
                 : subject.at_end ? FrameStyle::kPlain
                                  : FrameStyle::kBad}};
}

FrameLine Jobs(const FrameSubject& subject) {
  const CellMoment& moment = subject.moment;
  std::string text = fmt::format("{} came: {} running, ", moment.came, moment.running);
  if (moment.paused > 0) text += fmt::format("{} paused, ", moment.paused);
  text += fmt::format("{} waiting, {} ended", moment.waiting, moment.ended);
  FrameLine line = {{"jobs    ", FrameStyle::kHead}, {text, FrameStyle::kPlain}};
  if (moment.lost > 0)
    line.push_back({fmt::format(", {} of them lost", moment.lost), FrameStyle::kBad});
  return line;
}

FrameLine Cores(const FrameSubject& subject) {
  const CellMoment& moment = subject.moment;
  const int cores = moment.granted.Count();
  FrameLine line = {{"cores   ", FrameStyle::kHead}};
  if (cores == 0) {
    line.push_back({"none granted", FrameStyle::kPlain});
    return line;
  }
  const std::string granted = fmt::format("{} granted ({})", cores, moment.granted.ToString());
  if (!moment.runnable) {
    line.push_back({granted, FrameStyle::kPlain});
    return line;
  }
  const double over = *moment.Oversubscription();
  if (over > 0.005) {
    line.push_back({fmt::format("oversubscribed by {:.0f} %", over * 100), FrameStyle::kBad});
  } else {
    line.push_back({"not oversubscribed", FrameStyle::kGood});
  }
  const std::string runnable = AmountText(*moment.runnable);
  line.push_back({fmt::format(": {}; {} of their threads want{} to run", granted, runnable,
                              runnable == "1" ? "s" : ""),
                  FrameStyle::kPlain});
  return line;
}

// The column that is missing where a terminal is narrower than kColumns.
constexpr size_t kStepsWidth = 12;

const char* UnitName(SpeedUnit unit) {
  constexpr std::array<const char*, 3> kNames{"images/s", "steps/s", "requests/s"};
  return kNames[static_cast<size_t>(unit)];
}

// Of a line of kColumns characters; programs and cores take what more there is, and where there is
// less, the steps go, and then parts of programs' names.
struct TenantWidths {
  size_t program = 16, cores = 10, steps = kStepsWidth;
  explicit TenantWidths(size_t columns) {
    const size_t more = std::min<size_t>(columns > kColumns ? columns - kColumns : 0, 40);
    program += more / 2;
    cores += more - more / 2;
    if (columns >= kColumns) return;
    steps = 0;
    const size_t lacking = kColumns - columns;
    if (lacking > kStepsWidth) program -= std::min<size_t>(lacking - kStepsWidth, 8);
  }
};

FrameLine TenantHead(size_t columns) {
  const TenantWidths widths(columns);
  return {{fmt::format("{:>6} {:<{}} {:<8}{:<{}} {:>7}{:>{}}  {}", "job", "program", widths.program,
                       "state", "cores", widths.cores, "threads", Cut("steps", widths.steps),
                       widths.steps, "speed"),
           FrameStyle::kHead}};
}

std::string CoresOf(const TenantMoment& tenant) {
  const int cores = tenant.cores.Count();
  const std::string places = tenant.cores.ToString();
  if (std::abs(tenant.amount - cores) < 1e-9 || tenant.amount == 0) {
    return fmt::format("{} ({})", cores, places);
  }
  return fmt::format("{:.2g} of {}", tenant.amount, places);
}

FrameLine TenantLine(const TenantMoment& tenant, double now, size_t columns) {
  const TenantWidths widths(columns);
  const std::string program = tenant.program.empty() ? "?" : Printable(tenant.program);
  const std::string begin =
      fmt::format("{:>6} {:<{}} ", tenant.job, Cut(program, widths.program), widths.program);
  if (tenant.state == TenantState::kWaits) {
    return {{begin, FrameStyle::kPlain},
            {fmt::format("waits   for {}", ShortTime(now - tenant.since)), FrameStyle::kFaint}};
  }
  const bool pauses = tenant.state == TenantState::kPaused;
  const std::string cores = pauses ? "0" : CoresOf(tenant);
  std::string threads = fmt::format("{}", tenant.threads);
  if (tenant.runnable) threads = fmt::format("{}/{}", AmountText(*tenant.runnable), tenant.threads);
  std::string steps = tenant.unit == SpeedUnit::kRequests ? "" : fmt::format("{}", tenant.steps);
  if (tenant.all_steps) steps += fmt::format("/{}", *tenant.all_steps);
  std::string speed = "-";
  if (tenant.per_second)
    speed = fmt::format("{} {}", RateText(*tenant.per_second), UnitName(tenant.unit));
  return {{begin, FrameStyle::kPlain},
          {fmt::format("{:<8}", pauses ? "paused" : "runs"),
           pauses ? FrameStyle::kBad : FrameStyle::kGood},
          {fmt::format("{:<{}} {:>7}{:>{}}  {}", Cut(cores, widths.cores), widths.cores, threads,
                       widths.steps == 0 ? "" : " " + steps, widths.steps, speed),
           FrameStyle::kPlain}};
}

std::string CountOr(const std::optional<int64_t>& count) {
  return count ? fmt::format("{}", *count) : "?";
}

void AddServices(const std::vector<ServiceMoment>& services, Frame* frame) {
  if (services.empty()) return;
  frame->push_back({{fmt::format("{:>6} {:<16} {:>8}{:>11}{:>11}  {:<13}", "", "service",
                                 "in queue", "at servers", "answered/s", "mean response"),
                     FrameStyle::kHead}});
  for (size_t i = 0; i < std::min(services.size(), kMostServices); ++i) {
    const ServiceMoment& service = services[i];
    const std::string response =
        service.mean_response_s ? fmt::format("{:.0f} ms", *service.mean_response_s * 1e3) : "-";
    FrameLine line =
        Plain(fmt::format("{:>6} {:<16} {:>8}{:>11}{:>11}  {:<13}", "",
                          Cut(Printable(service.name), 16), CountOr(service.queued),
                          CountOr(service.in_flight), RateText(service.answered_per_s), response));
    if (service.dropped > 0)
      line.push_back({fmt::format(" {} dropped", service.dropped), FrameStyle::kBad});
    frame->push_back(std::move(line));
  }
  if (services.size() > kMostServices)
    frame->push_back(Plain(fmt::format("{:>6} and {} more", "", services.size() - kMostServices)));
}

void AddDecisions(const CellMoment& moment, size_t most, Frame* frame) {
  frame->push_back({{"      when  last decisions, what they moved", FrameStyle::kHead}});
  if (moment.asked) {
    frame->back().push_back({fmt::format("  ({} at {}: nothing)", Printable(moment.asked->event),
                                         ShortTime(moment.asked->time)),
                             FrameStyle::kFaint});
  }
  size_t shown = 0;
  for (const DecisionMoment& decision : moment.decisions) {
    if (shown++ == most) return;
    frame->push_back(Plain(fmt::format("{:>10}  {}: {}", ShortTime(decision.time),
                                       Printable(decision.event), Printable(decision.moves))));
  }
  if (shown == 0) frame->push_back({{"            none yet that moved a job", FrameStyle::kFaint}});
}

// As many of them as there is place for, from the first one on that is to be shown.
void AddTenants(const FrameSubject& subject, size_t columns, size_t most, FrameLine* jobs,
                Frame* frame) {
  const std::vector<TenantMoment>& tenants = subject.moment.tenants;
  const size_t shown = std::min(most, tenants.size());
  const size_t first = std::min(subject.first_tenant, tenants.size() - shown);
  const auto all =
      static_cast<size_t>(subject.moment.running + subject.moment.paused + subject.moment.waiting);
  if (all > shown)
    jobs->push_back({fmt::format("  (not shown: {} above, {} below)", first, all - first - shown),
                     FrameStyle::kFaint});
  frame->push_back(TenantHead(columns));
  for (size_t i = first; i < first + shown; ++i)
    frame->push_back(TenantLine(tenants[i], subject.moment.time, columns));
  if (tenants.empty()) frame->push_back({{"        no job is here", FrameStyle::kFaint}});
}

FrameLine KeysLine(size_t columns) {
  std::string text = " ? help  q quit  <- -> time  End now  n/p cell  space play  up/down jobs";
  text.resize(std::max(columns, text.size()), ' ');
  return {{text, FrameStyle::kBar}};
}

void Clip(size_t columns, Frame* frame) {
  for (FrameLine& line : *frame) {
    const bool is_cut = Width(line) > columns;
    size_t room = columns;
    for (FrameSpan& span : line) {
      const bool is_last = is_cut && span.text.size() >= room && room > 0;
      if (span.text.size() > room) span.text.resize(room);
      room -= span.text.size();
      if (is_last) span.text.back() = kCut;
    }
  }
}

// With the keys in its last line.
Frame Fitted(Frame frame, size_t columns, size_t rows) {
  if (rows == 0) return frame;
  const size_t body = rows > 1 ? rows - 1 : rows;
  frame.resize(body);
  if (rows > 1) frame.push_back(KeysLine(columns));
  Clip(columns, &frame);
  return frame;
}

}  // namespace

Frame DrawFrame(const FrameSubject& subject, int columns, int rows) {
  const auto width = static_cast<size_t>(std::max(columns, 1));
  const auto height = static_cast<size_t>(std::max(rows, 0));
  const CellMoment& moment = subject.moment;
  Frame frame = {Title(subject, width), Cells(subject, width), CellLine(subject)};
  AddWrapped("point", subject.point, FrameStyle::kPlain, width, &frame);
  AddWrapped("note", subject.note, FrameStyle::kBad, width, &frame);
  if (subject.cell == 0) return Fitted(std::move(frame), width, height);
  frame.push_back(TimeLine(subject, width));
  FrameLine jobs = Jobs(subject);
  Frame services;
  AddServices(moment.services, &services);
  Frame tenants;
  const size_t decisions = moment.decisions.size();
  size_t most_tenants = moment.tenants.size(), most_decisions = decisions;
  if (height > 0) {
    // Jobs, cores, two headings and the line of keys.
    const size_t used = frame.size() + services.size() + 5;
    const size_t room = height > used ? height - used : 0;
    const size_t for_decisions = std::min(kFewestDecisions, decisions);
    most_tenants = std::max<size_t>(1, room > for_decisions ? room - for_decisions : 0);
    const size_t taken = std::min(most_tenants, std::max<size_t>(1, moment.tenants.size()));
    most_decisions = room > taken ? room - taken : 0;
  }
  AddTenants(subject, width, most_tenants, &jobs, &tenants);
  frame.push_back(std::move(jobs));
  frame.push_back(Cores(subject));
  frame.insert(frame.end(), tenants.begin(), tenants.end());
  frame.insert(frame.end(), services.begin(), services.end());
  AddDecisions(moment, most_decisions, &frame);
  return Fitted(std::move(frame), width, height);
}

Frame DrawHelp(int columns, int rows) {
  constexpr std::array kLines{
      "left, right  about a hundredth of the cell    PgUp, PgDn  ten times as much",
      "Home, End    the cell's begin, its end (of a live one now); End again: what runs",
      "n, p         next, previous cell that began   g, G        first, last of them",
      "space        plays the cell in about 20 s, and pauses; at now: stays",
      "up, down     other jobs of a long list        q  quit     ?  back",
      "",
      "A cell is one policy with one kind of jobs in one trial at one point of a sweep;",
      "times count from its begin. Threads of rigid jobs are as many as was asked for,",
      "of moldable ones as many as cores at the start; of malleable ones they follow.",
      "state    runs, paused (no core for now) or waits (not started yet)",
      "cores    how many it has by its latest grant, and which",
      "threads  1.5/4: of 4 compute threads 1.5 want to run, on average",
      "steps    done, of all that it is to do",
      "speed    and that average: over the last two seconds, or longer where a step",
      "         takes longer; - until a step is done",
      "Oversubscribed by 50 %: for each core granted, half a thread of these jobs too",
      "many wants to run. What other programs do is told when a cell is over: a mark.",
      "Decisions: what asked the policy, and what it moved. tick: asked at intervals.",
      "Queue: requests that no server has yet.",
  };
  Frame frame = {{{"cosched watch", FrameStyle::kTitle}}, {}};
  for (const char* const line : kLines) frame.push_back(Plain(line));
  return Fitted(std::move(frame), static_cast<size_t>(std::max(columns, 1)),
                static_cast<size_t>(std::max(rows, 1)));
}

std::string FrameText(const Frame& frame) {
  std::string text;
  for (const FrameLine& line : frame) {
    std::string whole;
    for (const FrameSpan& span : line) whole += span.text;
    whole.resize(whole.find_last_not_of(' ') + 1);
    text += whole + "\n";
  }
  return text;
}

}  // namespace cosched
