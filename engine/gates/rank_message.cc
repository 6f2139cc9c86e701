#include "engine/gates/rank_message.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "engine/gates/packed_bytes.h"

namespace cosched {
namespace {

constexpr size_t kOrdinalBytes = Ordinal::kMostParts * sizeof(int32_t);

void Write(const std::vector<int32_t>& numbers, PackedWriter* writer) {
  writer->Count(numbers.size());
  for (const int32_t number : numbers) writer->Number(number);
}

std::vector<int32_t> ReadNumbers(PackedReader* reader) {
  std::vector<int32_t> numbers(reader->Count(sizeof(int32_t)));
  for (int32_t& number : numbers) number = reader->Number<int32_t>();
  if (std::ranges::any_of(numbers, [](int32_t number) { return number < 0; }))
    throw MalformedBytes("a number below 0");
  return numbers;
}

int64_t ReadNumber(PackedReader* reader) {
  const auto number = reader->Number<int64_t>();
  if (number < 0) throw MalformedBytes("a number below 0");
  return number;
}

int32_t ReadSmallNumber(PackedReader* reader) {
  const auto number = reader->Number<int32_t>();
  if (number < 0) throw MalformedBytes("a number below 0");
  return number;
}

bool ReadYesOrNo(PackedReader* reader) {
  const auto number = reader->Number<uint8_t>();
  if (number > 1) throw MalformedBytes("neither yes nor no");
  return number == 1;
}

// -1 behind the last part, and nothing below.
Ordinal ReadOrdinal(PackedReader* reader) {
  std::array<int32_t, Ordinal::kMostParts> parts{};
  for (int32_t& part : parts) part = reader->Number<int32_t>();
  const int32_t* const end = std::ranges::find(parts, -1);
  if (end == parts.cbegin() || std::any_of(parts.cbegin(), end, [](int32_t p) { return p < 0; }) ||
      std::any_of(end, parts.cend(), [](int32_t p) { return p != -1; })) {
    throw MalformedBytes("an ordinal that is none");
  }
  Ordinal ordinal(parts[0]);
  for (const int32_t* part = parts.cbegin() + 1; part != end; ++part) ordinal = ordinal.Then(*part);
  return ordinal;
}

void WriteMessage(const CallsWanted& message, PackedWriter* writer) {
  Write(message.stages, writer);
  writer->Number(message.calls);
}

void WriteMessage(const CallFinished& message, PackedWriter* writer) {
  writer->Number(message.call);
  writer->Number(message.busy);
  writer->Number(static_cast<uint8_t>(message.made ? 1 : 0));
  if (message.made) writer->Text(*message.made);
}

void WriteMessage(const CallFailed& message, PackedWriter* writer) {
  writer->Number(message.call);
  writer->Number(message.busy);
  writer->Number(static_cast<uint8_t>(message.bad_input ? 1 : 0));
  writer->Text(message.why);
}

void WriteMessage(const RankFailed& message, PackedWriter* writer) {
  writer->Number(static_cast<uint8_t>(message.bad_input ? 1 : 0));
  writer->Text(message.why);
}

void WriteMessage(const CallSent& message, PackedWriter* writer) {
  size_t bytes = 0;
  for (const CallSent::Item& item : message.items) bytes += item.payload.size() + 64;
  writer->Reserve(bytes + 64);
  writer->Number(message.call);
  writer->Number(message.stage);
  writer->Number(message.request.value);
  writer->Count(message.items.size());
  for (const CallSent::Item& item : message.items) {
    for (const int32_t part : item.ordinal.Parts()) writer->Number(part);
    writer->Text(item.payload);
  }
}

void WriteMessage(const CallCancelled& message, PackedWriter* writer) {
  writer->Number(message.call);
}

void WriteMessage(const RankResized& message, PackedWriter* writer) {
  Write(message.cpus, writer);
  writer->Number(message.inter);
  writer->Number(message.intra);
  Write(message.home, writer);
}

void WriteMessage(const RanksClosed& /*message*/, PackedWriter* /*writer*/) {}

void ReadMessage(PackedReader* reader, CallsWanted* message) {
  message->stages = ReadNumbers(reader);
  message->calls = ReadSmallNumber(reader);
}

void ReadMessage(PackedReader* reader, CallFinished* message) {
  message->call = ReadNumber(reader);
  message->busy = ReadNumber(reader);
  if (ReadYesOrNo(reader)) message->made = reader->Text();
}

void ReadMessage(PackedReader* reader, CallFailed* message) {
  message->call = ReadNumber(reader);
  message->busy = ReadNumber(reader);
  message->bad_input = ReadYesOrNo(reader);
  message->why = reader->Text();
}

void ReadMessage(PackedReader* reader, RankFailed* message) {
  message->bad_input = ReadYesOrNo(reader);
  message->why = reader->Text();
}

void ReadMessage(PackedReader* reader, CallSent* message) {
  message->call = ReadNumber(reader);
  message->stage = ReadSmallNumber(reader);
  message->request.value = ReadNumber(reader);
  message->items.resize(reader->Count(kOrdinalBytes + sizeof(uint64_t)));
  for (CallSent::Item& item : message->items) {
    item.ordinal = ReadOrdinal(reader);
    item.payload = reader->Text();
  }
}

void ReadMessage(PackedReader* reader, CallCancelled* message) {
  message->call = ReadNumber(reader);
}

void ReadMessage(PackedReader* reader, RankResized* message) {
  message->cpus = ReadNumbers(reader);
  message->inter = ReadSmallNumber(reader);
  message->intra = ReadSmallNumber(reader);
  message->home = ReadNumbers(reader);
}

void ReadMessage(PackedReader* /*reader*/, RanksClosed* /*message*/) {}

template <size_t kIndex = 0>
RankMessage ReadMessageOfKind(size_t kind, PackedReader* reader) {
  if constexpr (kIndex == std::variant_size_v<RankMessage>) {
    throw MalformedBytes("a message of no kind");
  } else if (kind == kIndex) {
    std::variant_alternative_t<kIndex, RankMessage> message;
    ReadMessage(reader, &message);
    reader->End();
    return message;
  } else {
    return ReadMessageOfKind<kIndex + 1>(kind, reader);
  }
}

}  // namespace

std::string Encode(const RankMessage& message) {
  PackedWriter writer;
  writer.Number(static_cast<uint8_t>(message.index()));
  std::visit([&](const auto& of_kind) { WriteMessage(of_kind, &writer); }, message);
  return writer.Take();
}

RankMessage DecodeRankMessage(std::string_view bytes) {
  PackedReader reader(bytes);
  const auto kind = reader.Number<uint8_t>();
  return ReadMessageOfKind(kind, &reader);
}

}  // namespace cosched
