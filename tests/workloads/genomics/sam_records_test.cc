#include "workloads/genomics/sam_records.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/workloads/expect_input_error.h"

namespace cosched {
namespace {

const std::vector<ReferenceSequence> kReferences = {{"one", 1'000}, {"two", 2'000}};

template <typename Number>
Number NumberAt(std::string_view bytes, size_t offset) {
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

class SamRecordsTest : public testing::Test {
 protected:
  // A record of a read of four bases.
  static std::string Line(const std::string& name, int flag, const std::string& reference,
                          int position) {
    return name + "\t" + std::to_string(flag) + "\t" + reference + "\t" + std::to_string(position) +
           "\t60\t" + (reference == "*" ? "*" : "4M") + "\t*\t0\t0\tACGN\tABCD\trl:i:3\n";
  }
  RecordRun Parse(const std::string& sam, int64_t first = 0, int64_t reads = 100) {
    RecordRun run;
    SamParser(header_).Parse(sam, first, reads, &run);
    return run;
  }
  static std::string Names(const RecordRun& run) {
    std::string names;
    for (const RecordRun::Entry& entry : run.entries) {
      names += std::string(run.Record(entry).data() + 36) + " ";
    }
    return names;
  }

  SamHeader header_{kReferences, {"cosched", "1.2", "cosched a\tb\n"}};
};

TEST_F(SamRecordsTest, HeaderIsThatOfASortedFile) {
  EXPECT_EQ(header_.Text(),
            "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:one\tLN:1000\n@SQ\tSN:two\tLN:2000\n"
            "@PG\tID:cosched\tPN:cosched\tVN:1.2\tCL:cosched a b \n");
  const std::string bytes = header_.BamBytes();
  const size_t text = header_.Text().size();
  EXPECT_EQ(bytes.substr(0, 4), std::string("BAM\1"));
  EXPECT_EQ(NumberAt<uint32_t>(bytes, 4), text);
  EXPECT_EQ(bytes.substr(8, text), header_.Text());
  EXPECT_EQ(NumberAt<uint32_t>(bytes, 8 + text), 2u);
  EXPECT_EQ(NumberAt<uint32_t>(bytes, 12 + text), 4u);
  EXPECT_EQ(bytes.substr(16 + text, 4), std::string("one\0", 4));
  EXPECT_EQ(NumberAt<uint32_t>(bytes, 20 + text), 1'000u);
  EXPECT_EQ(bytes.size(), 24 + text + 12);
}

TEST_F(SamRecordsTest, RecordsAreAsTheFormatHasThem) {
  const RecordRun run = Parse(Line("read", 16, "two", 7));
  ASSERT_EQ(run.entries.size(), 1u);
  const std::string_view record = run.Record(run.entries[0]);
  EXPECT_EQ(record.size(), run.bytes.size());
  EXPECT_EQ(NumberAt<uint32_t>(record, 0), record.size() - 4);
  EXPECT_EQ(NumberAt<int32_t>(record, 4), 1);    // Reference.
  EXPECT_EQ(NumberAt<int32_t>(record, 8), 6);    // Position, counted from 0.
  EXPECT_EQ(NumberAt<uint8_t>(record, 12), 5);   // Name with its NUL.
  EXPECT_EQ(NumberAt<uint8_t>(record, 13), 60);  // Mapping quality.
  EXPECT_EQ(NumberAt<uint16_t>(record, 16), 1);  // CIGAR operations.
  EXPECT_EQ(NumberAt<uint16_t>(record, 18), 16);
  EXPECT_EQ(NumberAt<int32_t>(record, 20), 4);
  EXPECT_EQ(NumberAt<int32_t>(record, 24), -1);  // No mate.
  EXPECT_EQ(record.substr(36, 5), std::string_view("read\0", 5));
  EXPECT_EQ(NumberAt<uint32_t>(record, 41), 4u << 4);
  EXPECT_EQ(record.substr(45, 2), std::string_view("\x12\x4f", 2));
  EXPECT_EQ(record.substr(47, 4), std::string_view("\x20\x21\x22\x23", 4));
  EXPECT_EQ(record.substr(51), std::string_view("rlC\3", 4));
}

TEST_F(SamRecordsTest, OrderIsThatOfSamtoolsSort) {
  RecordRun run =
      Parse(Line("unmapped1", 4, "*", 0) + Line("two5", 0, "two", 5) + Line("one9-", 16, "one", 9) +
            Line("one9+", 0, "one", 9) + Line("one9-again", 16, "one", 9) +
            Line("mate", 4, "one", 9) + Line("unmapped2", 4, "*", 0) + Line("one1", 16, "one", 1));
  run.Sort();
  EXPECT_EQ(Names(run), "one1 one9+ mate one9- one9-again two5 unmapped1 unmapped2 ");
}

TEST_F(SamRecordsTest, EqualPlacesKeepTheOrderOfTheInput) {
  RecordRun run = Parse(Line("r20", 0, "one", 5) + Line("r21", 0, "one", 5), 20, 2);
  run.Append(
      Parse(Line("r0", 0, "one", 5) + Line("r0b", 0, "one", 5) + Line("r1", 0, "one", 5), 0, 20));
  run.Append(Parse(Line("r1000000000000", 0, "one", 5), 1'000'000'000'000, 1));
  run.Sort();
  EXPECT_EQ(Names(run), "r0 r0b r1 r20 r21 r1000000000000 ");
}

TEST_F(SamRecordsTest, TheLastLineNeedsNoEnd) {
  const std::string line = Line("a", 0, "one", 5);
  EXPECT_EQ(Parse(line.substr(0, line.size() - 1)).bytes, Parse(line).bytes);
  EXPECT_TRUE(Parse("").entries.empty());
}

TEST_F(SamRecordsTest, RefusedRecordsAreNamed) {
  try {
    Parse(Line("good", 0, "one", 5) + "bad\t0\tone\t5\t60\t5M\t*\t0\t0\tACGN\tABCD\n");
    ADD_FAILURE() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("the record of read bad"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace cosched
