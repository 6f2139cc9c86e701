#include "workloads/genomics/reference.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "workloads/genomics/line_reader.h"

namespace cosched {
namespace {

// A chromosome may be one line; BAM counts positions in 31 bits.
constexpr size_t kLongestSequence = std::numeric_limits<int32_t>::max();
constexpr size_t kMostBases = 4'000'000'000;  // minimap2 -I: one part of an index.

bool IsReferenceBase(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '*' || c == '-' || c == '.';
}

bool IsReferenceNameCharacter(char c) { return c > ' ' && c < 127; }

std::string ReadReferenceName(const LineReader& lines, std::string_view line) {
  const std::string_view name = line.substr(1, line.find_first_of(" \t\v\f\r", 1) - 1);
  if (name.empty()) lines.Fail("has a sequence without a name", "'>' and the sequence's name");
  const auto* const foreign = std::find_if_not(name.begin(), name.end(), IsReferenceNameCharacter);
  if (foreign != name.end()) {
    lines.Fail("a sequence's name has a character " + Quoted(*foreign), "printable ASCII");
  }
  if (name.front() == '*' || name.front() == '=') {
    lines.Fail("a sequence's name begins with " + Quoted(name.front()),
               "names that SAM can hold: any other first character");
  }
  return std::string(name);
}

}  // namespace

ReferenceGenome ReadFasta(std::unique_ptr<ByteSource> source, const std::string& name) {
  LineReader lines(std::move(source), name, kLongestSequence);
  ReferenceGenome genome;
  std::set<std::string, std::less<>> names;
  size_t all = 0;
  std::string_view line;
  while (lines.Next(&line)) {
    if (line.starts_with('>')) {
      genome.sequences.push_back({.name = ReadReferenceName(lines, line)});
      genome.bases.emplace_back();
      if (!names.insert(genome.sequences.back().name).second) {
        lines.Fail("has a second sequence named " + genome.sequences.back().name,
                   "a name for each sequence");
      }
      continue;
    }
    if (line.empty()) continue;
    if (genome.sequences.empty()) {
      lines.Fail("begins with " + Quoted(line.front()), "FASTA: '>' and a sequence's name");
    }
    const auto* const foreign = std::find_if_not(line.begin(), line.end(), IsReferenceBase);
    if (foreign != line.end()) {
      lines.Fail(
          "the sequence " + genome.sequences.back().name + " has a character " + Quoted(*foreign),
          "letters");
    }
    genome.bases.back().append(line);
    genome.sequences.back().length += static_cast<int64_t>(line.size());
    all += line.size();
    if (genome.bases.back().size() > kLongestSequence || all > kMostBases) {
      lines.Fail("has too many bases for one index", "2147483647 a sequence and 4000000000 in all");
    }
  }
  if (genome.sequences.empty()) lines.Fail("has no sequences", "FASTA");
  return genome;
}

}  // namespace cosched
