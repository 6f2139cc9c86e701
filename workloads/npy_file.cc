#include "workloads/npy_file.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace cosched {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;  // The alignment of where the values begin.

[[noreturn]] void RefuseArray(const std::filesystem::path& file, const std::string& problem) {
  throw InputError({.file = file.string(),
                    .problem = problem,
                    .allowed = "a .npy file of float32 or float64 in C order"});
}

// What follows a key of the header, which is a Python dictionary: "{'descr': '<f4', …}".
std::string_view After(std::string_view header, std::string_view key) {
  const size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size());
  const size_t begin = header.find_first_not_of(" :'\"");
  return begin == std::string_view::npos ? std::string_view() : header.substr(begin);
}

// "(1, 3, 224, 224)" or "(5,)"; at most 2^31 elements.
std::optional<Shape> ParseShape(std::string_view text) {
  if (!text.starts_with("(")) return std::nullopt;
  text.remove_prefix(1);
  std::vector<int64_t> sizes;
  int64_t elements = 1;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
    if (text.starts_with(")")) return Shape(sizes);
    int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || size < 1 || size > (int64_t{1} << 31) / elements) {
      return std::nullopt;
    }
    elements *= size;
    sizes.push_back(size);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
}

}  // namespace

Tensor ReadNpy(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || !std::filesystem::is_regular_file(file)) RefuseArray(file, "can't be read");
  std::string start(10, '\0');
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  const auto byte = [&](size_t i) {
    return static_cast<size_t>(static_cast<unsigned char>(start[i]));
  };
  if (!stream || !start.starts_with(kNpyMagic) || byte(6) < 1 || byte(6) > 3) {
    RefuseArray(file, "is no .npy file");
  }
  size_t length = byte(8) | byte(9) << 8;
  if (byte(6) > 1) {
    char more[2] = {};
    stream.read(more, 2);
    length |= static_cast<size_t>(static_cast<unsigned char>(more[0])) << 16;
  }
  if (length > 65536) RefuseArray(file, "has too long a header");
  std::string header(length, '\0');
  stream.read(header.data(), static_cast<std::streamsize>(length));
  const std::string_view type = After(header, "'descr'");
  const bool wide = type.starts_with("<f8");
  const std::optional<Shape> shape = ParseShape(After(header, "'shape'"));
  if (!stream || (!wide && !type.starts_with("<f4")) || !shape ||
      !After(header, "'fortran_order'").starts_with("False")) {
    RefuseArray(file, fmt::format("its header is {}",
                                  header.substr(0, header.find_last_not_of(" \n") + 1)));
  }
  const auto elements = static_cast<size_t>(shape->Elements());
  const auto begin = static_cast<size_t>(stream.tellg());
  if (std::filesystem::file_size(file) != begin + elements * (wide ? 8 : 4)) {
    RefuseArray(file, "its size does not fit its shape " + shape->ToString());
  }
  Tensor tensor(*shape);
  if (wide) {
    std::vector<double> values(elements);
    stream.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(8 * elements));
    for (size_t i = 0; i < elements; ++i) tensor.Floats()[i] = static_cast<float>(values[i]);
  } else {
    stream.read(reinterpret_cast<char*>(tensor.Floats()),
                static_cast<std::streamsize>(4 * elements));
  }
  if (!stream) RefuseArray(file, "can't be read");
  return tensor;
}

void WriteNpy(const std::filesystem::path& file, const Tensor& tensor) {
  std::string sizes;
  for (const int64_t size : tensor.GetShape().Sizes()) sizes += fmt::format("{}, ", size);
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", sizes);
  header.append(kAlignment - (kNpyMagic.size() + 4 + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  std::ofstream stream(file, std::ios::binary);
  stream << kNpyMagic << '\x01' << '\0' << static_cast<char>(header.size() & 0xff)
         << static_cast<char>(header.size() >> 8) << header;
  stream.write(reinterpret_cast<const char*>(tensor.Floats()),
               static_cast<std::streamsize>(tensor.Bytes()));
  stream.close();
  if (!stream) throw OutputError("can't write " + file.string());
}

}  // namespace cosched
