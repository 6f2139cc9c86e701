// Bytes come out as they went in, whichever packer and however the file is named; whatever is cut
// off or damaged is an InputError.

#include "engine/base/byte_source.h"

#include <bzlib.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <zlib.h>

#include <fstream>

#include "engine/base/error.h"

namespace cosched {
namespace {

std::string Gzipped(std::string bytes) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

std::string Bzipped(std::string bytes) {
  auto size = static_cast<unsigned>(bytes.size() + bytes.size() / 50 + 1000);
  std::string packed(size, '\0');
  EXPECT_EQ(BZ2_bzBuffToBuffCompress(packed.data(), &size, bytes.data(),
                                     static_cast<unsigned>(bytes.size()), 1, 0, 0),
            BZ_OK);
  packed.resize(size);
  return packed;
}

std::string Xzipped(const std::string& bytes) {
  std::string packed(lzma_stream_buffer_bound(bytes.size()), '\0');
  size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(
                0, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const uint8_t*>(bytes.data()),
                bytes.size(), reinterpret_cast<uint8_t*>(packed.data()), &size, packed.size()),
            LZMA_OK);
  packed.resize(size);
  return packed;
}

std::string ReadAll(ByteSource* source, size_t piece) {
  std::string all;
  std::string buffer(piece, '\0');
  while (const size_t got = source->Read(buffer.data(), buffer.size())) all.append(buffer, 0, got);
  EXPECT_EQ(source->Read(buffer.data(), buffer.size()), 0U) << "the end stays the end";
  return all;
}

std::string Unpacked(const std::string& packed, size_t piece = 1000) {
  return ReadAll(OpenBytes(packed, "memory").get(), piece);
}

std::string Problem(const std::string& packed) {
  try {
    Unpacked(packed);
  } catch (const InputError& error) {
    EXPECT_EQ(error.details().file, "memory");
    return error.details().problem;
  }
  return "";
}

// Some that compress well and some that don't, longer than any buffer.
std::string Sample() {
  std::string bytes;
  uint64_t state = 1;
  for (int i = 0; i < 300'000; ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    bytes += i % 3 == 0 ? static_cast<char>(state >> 56) : 'a';
  }
  return bytes;
}

class PackedTest : public testing::TestWithParam<std::string (*)(std::string)> {};

TEST_P(PackedTest, ComesOutAsItWentIn) {
  const std::string bytes = Sample();
  for (const size_t piece : {1U << 20, 4096U, 7U}) {
    EXPECT_EQ(Unpacked(GetParam()(bytes), piece), bytes) << piece;
  }
  EXPECT_EQ(Unpacked(GetParam()("")), "");
}

TEST_P(PackedTest, SeveralBehindEachOtherAreOne) {
  const std::string several = GetParam()("one,") + GetParam()("") + GetParam()("two");
  EXPECT_EQ(Unpacked(several), "one,two");
}

TEST_P(PackedTest, EveryCutIsAnError) {
  const std::string packed = GetParam()("a few bytes, a few bytes");
  for (size_t length = 6; length < packed.size(); ++length) {
    EXPECT_NE(Problem(packed.substr(0, length)).find("truncated"), std::string::npos) << length;
  }
}

TEST_P(PackedTest, DamageIsAnErrorAndSoAreBytesBehindTheEnd) {
  const std::string bytes = Sample();
  std::string packed = GetParam()(bytes);
  packed[packed.size() / 2] ^= 0x55;
  EXPECT_NE(Problem(packed), "");
  EXPECT_NE(Problem(GetParam()("a") + "b").find("behind"), std::string::npos);
  EXPECT_EQ(Unpacked(GetParam()("a") + std::string(8, '\0')), "a") << "zeros are padding";
}

INSTANTIATE_TEST_SUITE_P(AllPackers, PackedTest,
                         testing::Values(
                             +[](std::string bytes) { return Gzipped(std::move(bytes)); },
                             +[](std::string bytes) { return Bzipped(std::move(bytes)); },
                             +[](std::string bytes) { return Xzipped(bytes); }));

TEST(ByteSource, WhatIsNotPackedStaysAsItIs) {
  for (const std::string text : {"", "B", "BZh", "BZhello", "\xfd", "plain text, longer"}) {
    EXPECT_EQ(Unpacked(text), text);
  }
}

TEST(ByteSource, FilesAreReadAndFailuresNameThem) {
  const std::string path = testing::TempDir() + "/byte_source.csv";
  std::ofstream(path, std::ios::binary) << Gzipped("packed, but not named so");
  EXPECT_EQ(ReadAll(OpenFile(path).get(), 100), "packed, but not named so");
  std::filesystem::remove(path);
  for (const std::string bad : {"/nonexistent/file", "/tmp"}) {
    try {
      OpenFile(bad);
      ADD_FAILURE() << bad;
    } catch (const InputError& error) {
      EXPECT_EQ(error.details().file, bad);
    }
  }
}

}  // namespace
}  // namespace cosched
