#include "workloads/genomics/bam_writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "engine/base/byte_source.h"
#include "engine/base/error.h"
#include "tests/workloads/genomics/record_factory.h"
#include "tests/workloads/temporary_folder.h"

namespace cosched {
namespace {

constexpr size_t kMostContents = 65'280;

RecordMerge MergeOf(const std::vector<std::string>& contents) {
  RecordRun run;
  for (size_t i = 0; i < contents.size(); ++i) AddRecord({i, i}, contents[i], &run);
  std::vector<std::unique_ptr<RunCursor>> cursors;
  cursors.push_back(OpenRun(std::move(run)));
  return RecordMerge(std::move(cursors));
}

std::vector<std::string> BlocksOf(const std::string& header,
                                  const std::vector<std::string>& contents) {
  BamBlocks blocks(header, MergeOf(contents));
  std::vector<std::string> all;
  std::string block;
  while (blocks.Next(&block)) all.push_back(block);
  return all;
}

// A block is a gzip file.
std::string Unpack(const std::string& bytes) {
  const auto source = OpenBytes(bytes, "block");
  std::string unpacked(1 << 22, '\0');
  size_t size = 0;
  while (const size_t got = source->Read(unpacked.data() + size, unpacked.size() - size)) {
    size += got;
  }
  unpacked.resize(size);
  return unpacked;
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += part;
  return all;
}

TEST(BamWriterTest, RecordsBeginBehindTheHeadersBlock) {
  EXPECT_EQ(BlocksOf("header", {}), std::vector<std::string>{"header"});
  EXPECT_EQ(BlocksOf("header", {"a", "bc"}),
            (std::vector<std::string>{"header", EncodedRecord("a") + EncodedRecord("bc")}));
}

TEST(BamWriterTest, ALongHeaderTakesSeveralBlocks) {
  const std::string header(150'000, 'h');
  const std::vector<std::string> blocks = BlocksOf(header, {"a"});
  ASSERT_EQ(blocks.size(), 4u);
  EXPECT_EQ(blocks[0].size(), kMostContents);
  EXPECT_EQ(blocks[0] + blocks[1] + blocks[2], header);
  EXPECT_EQ(blocks[3], EncodedRecord("a"));
}

TEST(BamWriterTest, NoBlockCutsARecordThatFitsInOne) {
  const std::string half(kMostContents / 2 - 4, 'h');
  const std::string whole(kMostContents - 4, 'w');
  const std::string more(2 * kMostContents, 'm');
  const std::vector<std::string> blocks = BlocksOf("H", {half, half, "a", whole, more, "b"});
  ASSERT_EQ(blocks.size(), 8u);
  EXPECT_EQ(blocks[1], EncodedRecord(half) + EncodedRecord(half));
  EXPECT_EQ(blocks[2], EncodedRecord("a"));
  EXPECT_EQ(blocks[3], EncodedRecord(whole));
  EXPECT_EQ(blocks[4] + blocks[5] + blocks[6], EncodedRecord(more));
  EXPECT_EQ(blocks[7], EncodedRecord("b"));
}

TEST(BamWriterTest, RandomRecordsComeOutAsTheyWentIn) {
  Random random(23);
  std::vector<std::string> contents;
  std::string expected = "header";
  for (int i = 0; i < 3'000; ++i) {
    contents.emplace_back(random.Below(random.Below(100) == 0 ? 200'000 : 600), 'a' + i % 26);
    expected += EncodedRecord(contents.back());
  }
  const std::vector<std::string> blocks = BlocksOf("header", contents);
  for (const std::string& block : blocks) {
    ASSERT_LE(block.size(), kMostContents);
    ASSERT_FALSE(block.empty());
  }
  EXPECT_TRUE(Joined(blocks) == expected);
}

TEST(BamWriterTest, BlocksAreGzipFilesThatTellTheirSize) {
  Random random(29);
  std::string noise(kMostContents, '\0');
  for (char& c : noise) c = static_cast<char>(random.Below(256));
  for (const std::string& contents : {std::string("x"), std::string(kMostContents, 'y'), noise}) {
    for (const int level : {0, 1, kDefaultCompression, 9}) {
      const std::string block = CompressBlock(contents, level);
      ASSERT_LE(block.size(), 65'536u);
      EXPECT_EQ(block.substr(10, 6), std::string("\6\0BC\2\0", 6));
      EXPECT_EQ(static_cast<uint8_t>(block[16]) + 256u * static_cast<uint8_t>(block[17]),
                block.size() - 1);
      EXPECT_TRUE(Unpack(block) == contents);
    }
  }
}

TEST(BamWriterTest, AFileIsThereWhenItIsFinished) {
  const TemporaryFolder folder;
  const std::string path = folder.PathOf("out.bam");
  {
    BamFile file(path);
    file.Write(CompressBlock("one"));
    EXPECT_FALSE(std::filesystem::exists(path));
    file.Write(CompressBlock("two"));
    file.Finish();
    EXPECT_EQ(file.Bytes(), static_cast<int64_t>(std::filesystem::file_size(path)));
  }
  const std::string bytes = folder.Contents("out.bam");
  EXPECT_EQ(Unpack(bytes), "onetwo");
  // The empty block at the end, byte for byte (SAMv1, section 4.1.2).
  EXPECT_EQ(bytes.substr(bytes.size() - 28),
            std::string("\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0\x42\x43\x02\0\x1b\0\x03\0\0\0\0\0\0\0"
                        "\0\0",
                        28));
}

TEST(BamWriterTest, OfAFileThatIsNotFinishedNothingStays) {
  const TemporaryFolder folder;
  folder.Write("out.bam", "of before");
  { BamFile(folder.PathOf("out.bam")).Write(CompressBlock("one")); }
  EXPECT_EQ(folder.Contents("out.bam"), "of before");
  EXPECT_FALSE(std::filesystem::exists(folder.PathOf("out.bam.part")));
  EXPECT_THROW(BamFile("/no/folder/out.bam"), OutputError);
}

TEST(BamWriterTest, WhatWillBeInTheWayIsToldAtOnce) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.PathOf("out.bam.part"));
  EXPECT_THROW(BamFile(folder.PathOf("out.bam")), OutputError);
}

// Here, a file that may not be that large.
TEST(BamWriterTest, AFullDiskIsAnError) {
  const TemporaryFolder folder;
  BamFile file(folder.PathOf("out.bam"));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 10, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  bool refused = false;
  try {
    file.Write(CompressBlock("one"));
  } catch (const OutputError&) {
    refused = true;
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(refused);
}

// Of another process, or of an earlier one.
TEST(BamWriterTest, WhatIsThereByTheNameIsReplaced) {
  const TemporaryFolder folder;
  folder.Write("out.bam", "of before");
  folder.Write("out.bam.part", "of one that was killed");
  BamFile file(folder.PathOf("out.bam"));
  EXPECT_EQ(folder.Contents("out.bam"), "of before");
  file.Finish();
  EXPECT_EQ(folder.Contents("out.bam").size(), 28u);
  EXPECT_FALSE(std::filesystem::exists(folder.PathOf("out.bam.part")));
}

}  // namespace
}  // namespace cosched
