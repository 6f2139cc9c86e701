#include "workloads/genomics/fastq.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/check.h"

namespace cosched {
namespace {

// A read's name and what follows it on its line.
constexpr size_t kLongestLine = FastqReader::kLongestRead + (1 << 16);

// What the bytes of a line may be; a table, since each base is looked at.
using Alphabet = std::array<bool, 256>;

constexpr Alphabet SequenceAlphabet() {
  Alphabet allowed{};
  for (int c = 'A'; c <= 'Z'; ++c) allowed[c] = allowed[c - 'A' + 'a'] = true;
  allowed['.'] = allowed['='] = true;
  return allowed;
}

constexpr Alphabet QualityAlphabet() {
  Alphabet allowed{};
  for (int c = '!'; c <= '~'; ++c) allowed[c] = true;
  return allowed;
}

constexpr Alphabet NameAlphabet() {
  Alphabet allowed{};
  for (int c = '!'; c <= 255; ++c) allowed[c] = c != 127;
  return allowed;
}

constexpr Alphabet kSequence = SequenceAlphabet();
constexpr Alphabet kQuality = QualityAlphabet();
constexpr Alphabet kName = NameAlphabet();

// The first byte that is not allowed, or the line's end.
const char* FindForeign(std::string_view line, const Alphabet& allowed) {
  return std::find_if_not(line.data(), line.data() + line.size(),
                          [&](char c) { return allowed[static_cast<unsigned char>(c)]; });
}

// "read/1" and "read/2" are of the template "read".
std::string_view TemplateName(std::string_view name) {
  const size_t size = name.size();
  const bool suffix =
      size >= 3 && name[size - 2] == '/' && name[size - 1] >= '0' && name[size - 1] <= '9';
  return suffix ? name.substr(0, size - 2) : name;
}

}  // namespace

SequencedRead ReadChunk::Read(size_t index) const {
  const Place& place = places_[index];
  const char* const name = text_.data() + place.name;
  const char* const bases = name + place.name_length + 1;
  const char* const qualities = bases + place.length + 1;
  return {{name, place.name_length}, {bases, place.length}, {qualities, place.length}};
}

size_t ReadChunk::EndOfTemplate(size_t index) const {
  return index + 1 < templates_.size() ? templates_[index + 1] : places_.size();
}

size_t ReadChunk::Memory() const {
  return text_.capacity() + places_.capacity() * sizeof(Place) +
         templates_.capacity() * sizeof(size_t);
}

void ReadChunk::Add(const SequencedRead& read) {
  CHECK(read.bases.size() == read.qualities.size()) << read.name;
  if (!Continues(read.name)) templates_.push_back(places_.size());
  places_.push_back({text_.size(), static_cast<uint32_t>(read.name.size()),
                     static_cast<uint32_t>(read.bases.size())});
  for (const std::string_view part : {read.name, read.bases, read.qualities}) {
    text_.append(part);
    text_.push_back('\0');
  }
}

bool ReadChunk::Continues(std::string_view name) const {
  return !places_.empty() && TemplateName(Read(places_.size() - 1).name) == TemplateName(name);
}

size_t ReadChunk::ReadsOfLastTemplate() const {
  return templates_.empty() ? 0 : places_.size() - templates_.back();
}

FastqReader::FastqReader(std::vector<File> files, size_t reads)
    : reads_(reads), drafts_(files.size()) {
  CHECK(files.size() == 1 || files.size() == 2) << files.size();
  CHECK(reads > 0);
  for (File& file : files) {
    lines_.emplace_back(std::move(file.source), std::move(file.name), kLongestLine);
  }
}

bool FastqReader::Next(ReadChunk* chunk) {
  *chunk = Begin();
  while (!Continue(chunk, reads_)) {
  }
  return chunk->Reads() > 0;
}

bool FastqReader::Continue(ReadChunk* chunk, size_t most) {
  const size_t before = chunk->Reads();
  while (chunk->Reads() - before < most) {
    const bool more = std::exchange(held_, false) || ReadMates();
    const bool full = chunk->Reads() >= reads_;
    if (!more || (full && !chunk->Continues(drafts_[0].name))) {
      held_ = more;
      given_ += static_cast<int64_t>(chunk->Reads());
      return true;
    }
    for (const Draft& draft : drafts_) {
      chunk->Add({draft.name, draft.bases, draft.qualities});
      if (chunk->ReadsOfLastTemplate() > kLargestTemplate) FailLarge(draft.name);
    }
  }
  return false;
}

bool FastqReader::ReadMates() {
  const bool first = ReadOne(&lines_[0], &drafts_[0]);
  if (lines_.size() == 1) return first;
  const bool second = ReadOne(&lines_[1], &drafts_[1]);
  if (first == second) return first;
  const LineReader& shorter = first ? lines_[1] : lines_[0];
  const LineReader& longer = first ? lines_[0] : lines_[1];
  shorter.Fail("ends before its mates in " + longer.Name() + " do, of which " +
                   (first ? drafts_[0] : drafts_[1]).name + " is the next",
               "two files with as many reads");
}

bool FastqReader::ReadOne(LineReader* lines, Draft* draft) {
  std::string_view line;
  do {
    if (!lines->Next(&line)) return false;
  } while (line.empty());
  ReadName(*lines, line, draft);
  ReadBases(lines, draft);
  ReadQualities(lines, draft);
  return true;
}

void FastqReader::ReadName(const LineReader& lines, std::string_view line, Draft* draft) {
  if (line.front() != '@') {
    lines.Fail("a read begins with " + Quoted(line.front()), "FASTQ: '@' and the read's name");
  }
  const std::string_view name = line.substr(1, line.find_first_of(" \t\v\f\r", 1) - 1);
  if (name.empty()) lines.Fail("has a read without a name");
  if (name.front() == '@') {
    lines.Fail("a read's name begins with '@', as SAM's header lines do", "names without it");
  }
  if (name.size() > kLongestName) {
    lines.Fail("a read's name has " + std::to_string(name.size()) + " bytes",
               "at most " + std::to_string(kLongestName));
  }
  if (const char* foreign = FindForeign(name, kName); foreign != name.data() + name.size()) {
    lines.Fail("a read's name has a character " + Quoted(*foreign), "printable characters");
  }
  draft->name = name;
}

void FastqReader::ReadBases(LineReader* lines, Draft* draft) {
  draft->bases.clear();
  std::string_view line;
  while (true) {
    if (!lines->Next(&line)) {
      lines->Fail("ends inside of the read " + draft->name + ", before its '+'");
    }
    if (line.starts_with('+')) break;
    if (const char* foreign = FindForeign(line, kSequence); foreign != line.data() + line.size()) {
      lines->Fail("the sequence of " + draft->name + " has a character " + Quoted(*foreign),
                  "letters, and a line that begins with '+' behind them");
    }
    draft->bases.append(line);
    if (draft->bases.size() > kLongestRead) {
      lines->Fail("the read " + draft->name + " has more than " + std::to_string(kLongestRead) +
                  " bases");
    }
  }
  for (char& base : draft->bases) {
    if (base == 'U' || base == 'u') --base;  // RNA's U is T, as in minimap2.
  }
}

void FastqReader::ReadQualities(LineReader* lines, Draft* draft) {
  draft->qualities.clear();
  std::string_view line;
  do {
    if (!lines->Next(&line)) break;
    if (const char* foreign = FindForeign(line, kQuality); foreign != line.data() + line.size()) {
      lines->Fail("the qualities of " + draft->name + " have a character " + Quoted(*foreign),
                  "'!' to '~'");
    }
    draft->qualities.append(line);
  } while (draft->qualities.size() < draft->bases.size());
  if (draft->qualities.size() != draft->bases.size()) {
    lines->Fail("the read " + draft->name + " has " + std::to_string(draft->bases.size()) +
                    " bases and " + std::to_string(draft->qualities.size()) + " qualities",
                "as many qualities as bases");
  }
}

void FastqReader::FailLarge(const std::string& name) const {
  lines_[0].Fail(
      "more than " + std::to_string(kLargestTemplate) + " reads in a row are named " + name,
      "a name a read, or a read and its mate");
}

FastqReader OpenFastq(const std::vector<std::string>& paths, size_t reads) {
  std::vector<FastqReader::File> files;
  for (const std::string& path : paths) files.push_back({path, OpenFile(path)});
  return {std::move(files), reads};
}

}  // namespace cosched
