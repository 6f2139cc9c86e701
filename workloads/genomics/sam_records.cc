#include "workloads/genomics/sam_records.h"

#include <htslib/sam.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace cosched {
namespace {

static_assert(std::endian::native == std::endian::little,
              "records are written as they lie in memory");

// Records of one read at most: its alignments overlap by half, and each takes 20 bases or more.
constexpr int kOrdinalBits = 16;
constexpr uint32_t kMostCigarOperations = 65'535;

std::string HeaderField(std::string_view key, std::string value) {
  std::replace_if(
      value.begin(), value.end(), [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
  return "\t" + std::string(key) + ":" + value;
}

template <typename Number>
void AppendNumber(Number number, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&number), sizeof number);
}

uint64_t Place(const bam1_t& record) {
  constexpr uint64_t kUnmapped = (uint64_t{1} << 31) - 1;  // Behind every reference.
  const uint64_t reference =
      record.core.tid < 0 ? kUnmapped : static_cast<uint64_t>(record.core.tid);
  const auto position = static_cast<uint64_t>(record.core.pos + 1);
  return reference << 33 | position << 1 | uint64_t{bam_is_rev(&record)};
}

// A record as the BAM format has it (SAMv1, section 4.2); htslib's own function writes to files only.
void AppendBam(const bam1_t& record, std::string* bytes) {
  const bam1_core_t& core = record.core;
  // In memory a name is padded with NULs, so that what follows is aligned; in files it is not.
  const uint32_t padding = core.l_extranul;
  const uint32_t name = core.l_qname - padding;
  AppendNumber<uint32_t>(32 + static_cast<uint32_t>(record.l_data) - padding, bytes);
  AppendNumber<int32_t>(core.tid, bytes);
  AppendNumber<int32_t>(static_cast<int32_t>(core.pos), bytes);
  AppendNumber<uint8_t>(static_cast<uint8_t>(name), bytes);
  AppendNumber<uint8_t>(core.qual, bytes);
  AppendNumber<uint16_t>(core.bin, bytes);
  AppendNumber<uint16_t>(static_cast<uint16_t>(core.n_cigar), bytes);
  AppendNumber<uint16_t>(core.flag, bytes);
  AppendNumber<int32_t>(core.l_qseq, bytes);
  AppendNumber<int32_t>(core.mtid, bytes);
  AppendNumber<int32_t>(static_cast<int32_t>(core.mpos), bytes);
  AppendNumber<int32_t>(static_cast<int32_t>(core.isize), bytes);
  const auto* const data = reinterpret_cast<const char*>(record.data);
  bytes->append(data, name);
  bytes->append(data + core.l_qname, static_cast<size_t>(record.l_data) - core.l_qname);
}

}  // namespace

SamHeader::SamHeader(const std::vector<ReferenceSequence>& references, const ProgramLine& program)
    : references_(references), text_("@HD\tVN:1.6\tSO:coordinate\n") {
  for (const ReferenceSequence& reference : references) {
    text_ += "@SQ" + HeaderField("SN", reference.name) +
             HeaderField("LN", std::to_string(reference.length)) + "\n";
  }
  text_ += "@PG" + HeaderField("ID", program.name) + HeaderField("PN", program.name) +
           HeaderField("VN", program.version) + HeaderField("CL", program.command_line) + "\n";
  parsed_ = sam_hdr_parse(text_.size(), text_.c_str());
  CHECK(parsed_ != nullptr) << text_;
  // The first question after a name builds the table of names; afterwards the header is only read.
  for (size_t i = 0; i < references.size(); ++i) {
    CHECK(sam_hdr_name2tid(parsed_, references[i].name.c_str()) == static_cast<int>(i))
        << references[i].name;
  }
}

SamHeader::~SamHeader() { sam_hdr_destroy(parsed_); }

std::string SamHeader::BamBytes() const {
  std::string bytes("BAM\1");
  AppendNumber(static_cast<uint32_t>(text_.size()), &bytes);
  bytes += text_;
  AppendNumber(static_cast<uint32_t>(references_.size()), &bytes);
  for (const ReferenceSequence& reference : references_) {
    AppendNumber(static_cast<uint32_t>(reference.name.size() + 1), &bytes);
    bytes.append(reference.name.c_str(), reference.name.size() + 1);
    AppendNumber(static_cast<uint32_t>(reference.length), &bytes);
  }
  return bytes;
}

size_t RecordBytes(const char* record) {
  uint32_t rest = 0;
  static_assert(sizeof rest == kRecordLengthBytes);
  std::memcpy(&rest, record, sizeof rest);
  return sizeof rest + rest;
}

std::string_view RecordRun::Record(const Entry& entry) const {
  const char* const record = bytes.data() + entry.offset;
  return {record, RecordBytes(record)};
}

int64_t RecordRun::Memory() const {
  return static_cast<int64_t>(bytes.capacity() + entries.capacity() * sizeof(Entry));
}

void RecordRun::Sort() {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.key < b.key; });
}

void RecordRun::Append(const RecordRun& other) {
  const size_t before = bytes.size();
  bytes += other.bytes;
  for (Entry entry : other.entries) {
    entry.offset += before;
    entries.push_back(entry);
  }
}

struct SamParser::Scratch {
  explicit Scratch(sam_hdr_t* header) : header(header), record(bam_init1()) {}
  ~Scratch() { bam_destroy1(record); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  sam_hdr_t* header;
  bam1_t* record;
};

SamParser::SamParser(const SamHeader& header)
    : scratch_(std::make_unique<Scratch>(header.parsed_)) {}
SamParser::~SamParser() = default;

void SamParser::Parse(std::string sam, int64_t first, int64_t reads, RecordRun* run) {
  const uint64_t most = static_cast<uint64_t>(reads) << kOrdinalBits;
  uint64_t ordinal = 0;
  size_t begin = 0;
  while (begin < sam.size()) {
    const size_t end = std::min(sam.find('\n', begin), sam.size());
    if (end < sam.size()) sam[end] = '\0';
    kstring_t line = {.l = end - begin, .m = end - begin + 1, .s = sam.data() + begin};
    const std::string name(line.s, std::strcspn(line.s, "\t"));
    bam1_t& record = *scratch_->record;
    if (sam_parse1(&line, scratch_->header, &record) < 0) {
      throw InputError({.problem = "htslib refuses the record of read " + name});
    }
    if (record.core.n_cigar > kMostCigarOperations || ordinal >= most) {
      throw InputError(
          {.problem = "the alignments of read " + name + " are too many for one record",
           .allowed = "short reads"});
    }
    const uint64_t all = (static_cast<uint64_t>(first) << kOrdinalBits) + ordinal++;
    run->entries.push_back({{Place(record), all}, run->bytes.size()});
    AppendBam(record, &run->bytes);
    begin = end + 1;
  }
}

}  // namespace cosched
