// libFuzzer target: whatever bytes arrive, each parser of the tenant protocol answers with a
// message or a reason, and a message that it takes comes back the same after being written again.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "experiments/wire/request_packets.h"
#include "experiments/wire/tenant_protocol.h"

namespace cosched {
namespace {

template <typename Message>
void Check(Parsed<Message> (*parse)(std::string_view), std::string_view text) {
  const Parsed<Message> first = parse(text);
  if (first.message.has_value() != first.error.empty()) std::abort();
  if (!first.message) return;
  const Parsed<Message> again = parse(Encode(*first.message));
  if (!again.message || !(*again.message == *first.message)) std::abort();
}

}  // namespace
}  // namespace cosched

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  cosched::Check(&cosched::ParseHostMessage, text);
  cosched::Check(&cosched::ParseTenantMessage, text);
  cosched::Check(&cosched::ParseControlRequest, text);
  cosched::Check(&cosched::ParseControlReply, text);
  cosched::Check(&cosched::ParseRequestPacket, text);
  cosched::Check(&cosched::ParseAnswerPacket, text);
  cosched::Check(&cosched::ParseHoldPacket, text);
  return 0;
}
