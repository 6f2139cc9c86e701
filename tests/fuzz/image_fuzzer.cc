// libFuzzer target of the readers of images, one format a run (--format=jpeg or png): whatever bytes
// arrive, they come out as pixels of the size that was told, the same however they are decoded piece
// by piece, or as an InputError that names the file; and no size is believed without the bytes that
// it takes. --write-seeds=FOLDER writes small images to start from.

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "tests/fuzz/format_option.h"
#include "tests/fuzz/image_seeds.h"
#include "workloads/images/image_reader.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace cosched {
namespace {

// Nothing of one that is refused.
std::optional<Pixels> Decode(std::string_view bytes, int64_t pixels) {
  try {
    const std::unique_ptr<ImageReader> reader = OpenImage(bytes, "a");
    while (reader->Continue(pixels)) {
    }
    return reader->Take();
  } catch (const InputError& error) {
    Demand(error.details().file == "a", "an error names its file");
    Demand(!error.details().problem.empty(), "an error says what is wrong");
    return std::nullopt;
  }
}

void CheckImage(std::string_view bytes) {
  const std::optional<Pixels> whole = Decode(bytes, kMostImagePixels);
  const std::optional<Pixels> pieces = Decode(bytes, 1'000);
  Demand(whole.has_value() == pieces.has_value(), "an error does not depend on pieces");
  if (!whole) return;
  Demand(whole->width > 0 && whole->height > 0, "an image has pixels");
  const int64_t count = int64_t{whole->width} * whole->height;
  Demand(count <= kMostImagePixels, "sizes are bounded");
  Demand(static_cast<int64_t>(whole->rgb.size()) == 3 * count, "all pixels are there");
  Demand(whole->rgb == pieces->rgb, "pixels do not depend on pieces");
}

// Of each chunk, as a change would otherwise be refused for it alone.
void MendSums(uint8_t* data, size_t size) {
  constexpr size_t kBegin = 8, kFrame = 12;  // Length and kind before the contents, the sum behind.
  for (size_t at = kBegin; at + kFrame <= size;) {
    const size_t length = static_cast<size_t>(data[at]) << 24 |
                          static_cast<size_t>(data[at + 1]) << 16 |
                          static_cast<size_t>(data[at + 2]) << 8 | data[at + 3];
    if (length > size - at - kFrame) return;
    const uLong sum = crc32(0, data + at + 4, static_cast<uInt>(length + 4));
    for (size_t i = 0; i < 4; ++i)
      data[at + 8 + length + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
    at += kFrame + length;
  }
}

void WriteSeeds(const std::string& folder) {
  int number = 0;
  const auto write = [&](const std::string& image) {
    std::ofstream(folder + "/seed" + std::to_string(number++), std::ios::binary) << image;
  };
  const bool png = format_option.format == "png";
  for (const std::string& image : png ? PngSeeds() : JpegSeeds()) {
    write(image);
    // Each seed must be an image, or the fuzzer would start from nothing.
    Demand(Decode(image, kMostImagePixels).has_value(), "a seed is an image");
    write(image.substr(0, image.size() / 2));
  }
  for (const std::string& image : RefusedPngs()) {
    if (png) write(image);
    Demand(!Decode(image, kMostImagePixels), "a size without bytes is refused");
  }
}

}  // namespace
}  // namespace cosched

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  cosched::ReadFormatOption(
      *count, *arguments, [](const std::string& name) { return name == "jpeg" || name == "png"; });
  const std::string& seeds = cosched::format_option.seeds;
  if (seeds.empty()) return 0;
  cosched::WriteSeeds(seeds);
  std::exit(0);
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  const size_t changed = LLVMFuzzerMutate(data, size, most);
  if (cosched::format_option.format == "png" && seed % 4 != 0) cosched::MendSums(data, changed);
  return changed;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cosched::CheckImage({reinterpret_cast<const char*>(data), size});
  return 0;
}
