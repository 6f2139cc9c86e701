// libFuzzer target of the readers of FASTQ and FASTA files: whatever bytes arrive, packed or not, in
// one file or in two with mates, the readers give what their headers promise or an InputError with
// the file. Chunks of other sizes hold the same reads.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "workloads/genomics/fastq.h"
#include "workloads/genomics/reference.h"

namespace cosched {
namespace {

void Demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

void CheckError(const InputError& error) {
  Demand(error.details().file == "a" || error.details().file == "b", "an error names its file");
  Demand(!error.details().problem.empty(), "an error says what is wrong");
}

void CheckRead(const SequencedRead& read) {
  Demand(!read.name.empty() && read.name.size() <= FastqReader::kLongestName, "a name that fits");
  Demand(read.bases.size() == read.qualities.size(), "as many qualities as bases");
  Demand(read.bases.size() <= FastqReader::kLongestRead, "reads of bounded length");
  for (const std::string_view field : {read.name, read.bases, read.qualities}) {
    Demand(field.find_first_of(std::string_view(" \t\r\n\0", 5)) == std::string_view::npos,
           "fields without blanks");
    Demand(field.data()[field.size()] == '\0', "a NUL behind each field");
  }
}

// All reads, a line each, templates apart; and whether an error ended them.
std::pair<std::string, bool> ReadAll(std::vector<std::string_view> files, size_t reads) {
  std::string text;
  int64_t count = 0;
  try {
    std::vector<FastqReader::File> opened;
    for (size_t i = 0; i < files.size(); ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      opened.push_back({name, OpenBytes(files[i], name)});
    }
    FastqReader reader(std::move(opened), reads);
    ReadChunk chunk;
    while (reader.Next(&chunk)) {
      Demand(chunk.Reads() > 0 && chunk.First() == count, "chunks count their reads");
      for (size_t i = 0; i < chunk.Templates(); ++i) {
        Demand(chunk.FirstOfTemplate(i) < chunk.EndOfTemplate(i), "no template without reads");
        text += "-\n";
        for (size_t j = chunk.FirstOfTemplate(i); j < chunk.EndOfTemplate(i); ++j) {
          const SequencedRead read = chunk.Read(j);
          CheckRead(read);
          text.append(read.name).append("\t").append(read.bases).append("\t");
          text.append(read.qualities).append("\n");
          ++count;
        }
      }
    }
  } catch (const InputError& error) {
    CheckError(error);
    return {text, true};
  }
  return {text, false};
}

void CheckFastq(const std::vector<std::string_view>& files) {
  const auto whole = ReadAll(files, size_t{1} << 40);
  const auto single = ReadAll(files, 1);
  Demand(whole.second == single.second, "an error does not depend on chunks");
  // Where there is an error, small chunks have given what came before it.
  Demand(whole.second || whole.first == single.first, "reads do not depend on chunks");
}

void CheckFasta(std::string_view bytes) {
  try {
    const ReferenceGenome genome = ReadFasta(OpenBytes(bytes, "a"), "a");
    Demand(!genome.sequences.empty(), "a sequence at least");
    Demand(genome.sequences.size() == genome.bases.size(), "bases of each sequence");
    for (size_t i = 0; i < genome.bases.size(); ++i) {
      Demand(genome.sequences[i].length == static_cast<int64_t>(genome.bases[i].size()),
             "lengths that are true");
    }
  } catch (const InputError& error) {
    CheckError(error);
  }
}

}  // namespace
}  // namespace cosched

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  cosched::CheckFastq({bytes});
  const size_t middle = bytes.find('|');  // No record needs one.
  if (middle != std::string_view::npos) {
    cosched::CheckFastq({bytes.substr(0, middle), bytes.substr(middle + 1)});
  }
  cosched::CheckFasta(bytes);
  return 0;
}
