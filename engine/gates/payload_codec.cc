#include "engine/gates/payload_codec.h"

#include <cstdint>

#include "engine/gates/packed_bytes.h"

namespace cosched {

PayloadCodec NumberCodec() {
  return {.encode =
              [](const Payload& payload) {
                PackedWriter writer;
                writer.Number(payload.As<int64_t>());
                return writer.Take();
              },
          .decode =
              [](std::string_view bytes, const Payload* /*origin*/) {
                PackedReader reader(bytes);
                const auto number = reader.Number<int64_t>();
                reader.End();
                return Payload::Of(number, sizeof number);
              }};
}

}  // namespace cosched
