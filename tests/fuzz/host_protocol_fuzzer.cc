// libFuzzer target of what a harness and the agents of nodes say to each other: whatever bytes
// arrive, they are taken apart into the same frames however they were cut, each parser answers with
// a message or a reason, a message that it takes comes back the same after being written again, and
// a report keeps all its rows in parts. The input is a text, and a stream of frames.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/kernels/kernel.h"
#include "experiments/hosts/host_protocol.h"
#include "experiments/wire/frame_socket.h"

namespace cosched {
namespace {

constexpr size_t kLongestFrame = 1024;  // Inputs are of 4 KiB: some frames must be too long.
constexpr size_t kFramesParsed = 4;     // Others tell no more of the parsers.

void Demand(bool holds) {
  if (!holds) std::abort();
}

template <typename Message>
void CheckParser(Parsed<Message> (*parse)(std::string_view), std::string_view text) {
  const Parsed<Message> first = parse(text);
  Demand(first.message.has_value() == first.error.empty());
  if (!first.message) return;
  const std::string written = Encode(*first.message);
  const Parsed<Message> again = parse(written);
  Demand(again.message.has_value());
  Demand(again.message->index() == first.message->index());
  Demand(Encode(*again.message) == written);
}

template <typename Row>
void Append(const std::vector<Row>& rows, size_t most, std::vector<Row>* all) {
  Demand(rows.size() <= most);
  all->insert(all->end(), rows.begin(), rows.end());
}

void CheckParts(const ObservedReport& report, size_t rows) {
  ObservedReport all;
  for (const ObservedReport& part : InParts(report, rows)) {
    Append(part.steps, rows, &all.steps);
    Append(part.resizes, rows, &all.resizes);
    Append(part.actuations, rows, &all.actuations);
    Append(part.memory_moves, rows, &all.memory_moves);
    Append(part.requests, rows, &all.requests);
    Append(part.progress, rows, &all.progress);
  }
  Demand(Encode(AgentReport(all)) == Encode(AgentReport(report)));
}

void CheckText(std::string_view text) {
  CheckParser(&ParseHostCall, text);
  CheckParser(&ParseAgentReport, text);
  const Parsed<AgentReport> report = ParseAgentReport(text);
  const auto* observed = report.message ? std::get_if<ObservedReport>(&*report.message) : nullptr;
  if (observed == nullptr) return;
  CheckParts(*observed, 1);
  CheckParts(*observed, 2);
}

struct Taken {
  std::vector<std::string> frames;
  bool too_long = false;  // The stream is of no more use.
  bool operator==(const Taken&) const = default;
};

// As a socket would bring them, so many bytes at a time.
Taken TakeApart(std::string_view bytes, size_t step) {
  FrameReader reader(kLongestFrame);
  Taken taken;
  for (size_t begin = 0; begin < bytes.size() && !taken.too_long; begin += step) {
    reader.Add(bytes.substr(begin, step));
    std::string text;
    FrameReader::Next next = reader.Take(&text);
    for (; next == FrameReader::Next::kFrame; next = reader.Take(&text)) {
      Demand(text.size() <= kLongestFrame);
      taken.frames.push_back(text);
    }
    taken.too_long = next == FrameReader::Next::kTooLong;
  }
  return taken;
}

void CheckFrames(std::string_view bytes) {
  const Taken whole = TakeApart(bytes, std::max<size_t>(1, bytes.size()));
  Demand(whole == TakeApart(bytes, 1));
  Demand(whole == TakeApart(bytes, 7));
  std::string again;
  for (const std::string& frame : whole.frames) again += Framed(frame);
  Demand(bytes.starts_with(again));  // What is left is no frame, or not yet.
  const size_t count = std::min(whole.frames.size(), kFramesParsed);
  for (size_t i = 0; i < count; ++i) CheckText(whole.frames[i]);
}

}  // namespace

// Asked by nobody here; oneDNN, which knows, is not built for the sanitizers.
bool CpuHasBFloat16() { return false; }

}  // namespace cosched

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  cosched::CheckText(bytes);
  cosched::CheckFrames(bytes);
  return 0;
}
