#pragma once
// A genome and reads of it from a seed: what sequencers give on a good day and on a bad one. For tests
// and the benchmark. Not thread-safe.

#include <string>
#include <utility>
#include <vector>

#include "engine/base/random.h"
#include "workloads/genomics/reference.h"

namespace cosched {

inline std::string RandomBases(size_t count, Random* random) {
  std::string bases(count, 'A');
  for (char& base : bases) base = "ACGT"[random->Below(4)];
  return bases;
}

inline std::string ReverseComplementOf(const std::string& bases) {
  std::string reversed(bases.rbegin(), bases.rend());
  for (char& base : reversed) {
    const size_t at = std::string("ACGT").find(base);
    if (at != std::string::npos) base = "TGCA"[at];
  }
  return reversed;
}

// Sequences with what makes aligners hesitate: two long copies of one segment, 1,300 copies of a
// short one (more than minimap2 looks at), a gap of N, lower case, a sequence that is shorter than a
// seed, and one without bases.
inline ReferenceGenome RandomGenome(Random* random) {
  ReferenceGenome genome;
  const auto add = [&](const std::string& name, std::string bases) {
    genome.sequences.push_back({name, static_cast<int64_t>(bases.size())});
    genome.bases.push_back(std::move(bases));
  };
  std::string first = RandomBases(60'000, random);
  first.replace(40'000, 3'000, first.substr(5'000, 3'000));
  first.replace(20'000, 500, std::string(500, 'N'));
  for (size_t i = 30'000; i < 31'000; ++i) first[i] = static_cast<char>(first[i] - 'A' + 'a');
  const std::string repeat = RandomBases(70, random);
  std::string repeats;
  for (int i = 0; i < 1'300; ++i) repeats += repeat + RandomBases(1 + random->Below(30), random);
  add("first", std::move(first));
  add("short", RandomBases(15, random));
  add("repeats", std::move(repeats));
  add("empty", "");
  add("plasmid.1|x", RandomBases(20'000, random));
  return genome;
}

inline std::string Fasta(const ReferenceGenome& genome) {
  std::string text;
  for (size_t i = 0; i < genome.bases.size(); ++i) {
    text += ">" + genome.sequences[i].name + " described\n";
    for (size_t at = 0; at < genome.bases[i].size(); at += 70) {
      text += genome.bases[i].substr(at, 70) + "\n";
    }
  }
  return text;
}

class ReadGenerator {
 public:
  ReadGenerator(const ReferenceGenome* genome, Random* random) : genome_(genome), random_(random) {}

  // A FASTQ record.
  std::string Record(const std::string& name, const std::string& bases) {
    std::string qualities(bases.size(), 'I');
    for (char& quality : qualities) quality = static_cast<char>('!' + random_->Below(42));
    return "@" + name + " of a run\n" + bases + "\n+\n" + qualities + "\n";
  }

  // One read of any kind.
  std::string Single() {
    switch (random_->Below(16)) {
      case 0: return RandomBases(101, random_);  // Of another species.
      case 1: return std::string(101, 'N');
      case 2: return NRich(Sequenced(Fragment(101)));
      case 3: return Fragment(80) + Fragment(90);  // A chimera.
      case 4: return RandomBases(1 + random_->Below(40), random_);
      case 5: return Fragment(20 + random_->Below(40));
      case 6: return Sequenced(Fragment(250), 0.1);
      case 7: return Rare(Fragment(120));
      default: return Sequenced(Fragment(101));
    }
  }

  // The two mates of a fragment, of any kind.
  std::pair<std::string, std::string> Mates() {
    switch (random_->Below(12)) {
      case 0: return {Single(), Single()};
      case 1: return {RandomBases(101, random_), RandomBases(101, random_)};
      case 2: return {Sequenced(Fragment(101)), RandomBases(101, random_)};
      case 3: return {std::string(101, 'N'), Sequenced(Fragment(101))};
      default: return ProperMates(300 + random_->Below(100), 101);
    }
  }

  std::pair<std::string, std::string> ProperMates(size_t fragment, size_t length) {
    const std::string bases = Fragment(fragment);
    return {Sequenced(bases.substr(0, length)),
            Sequenced(ReverseComplementOf(bases.substr(bases.size() - length)))};
  }

  // So many of them as a FASTQ file, read0 first.
  std::string Singles(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += Record("read" + std::to_string(i), Single());
    return text;
  }

  // So many of them as the two files of a paired run.
  std::pair<std::string, std::string> Pairs(int count) {
    std::pair<std::string, std::string> text;
    for (int i = 0; i < count; ++i) {
      const auto [first, second] = Mates();
      text.first += Record("pair" + std::to_string(i) + "/1", first);
      text.second += Record("pair" + std::to_string(i) + "/2", second);
    }
    return text;
  }

 private:
  // Of either strand, from a sequence that is long enough, each base with the same chance.
  std::string Fragment(size_t length) {
    size_t all = 0;
    for (const std::string& bases : genome_->bases) all += bases.size();
    while (true) {
      size_t at = random_->Below(all);
      for (const std::string& bases : genome_->bases) {
        if (at >= bases.size()) {
          at -= bases.size();
          continue;
        }
        if (at + length > bases.size()) break;
        const std::string fragment = bases.substr(at, length);
        return random_->Below(2) == 0 ? fragment : ReverseComplementOf(fragment);
      }
    }
  }

  // With the errors of a sequencer: substitutions, and now and then a base too many or too few.
  std::string Sequenced(std::string bases, double error_rate = 0.01) {
    for (size_t i = 0; i < bases.size(); ++i) {
      if (random_->Uniform() >= error_rate) continue;
      const uint64_t kind = random_->Below(10);
      if (kind == 0) bases.insert(i, 1 + random_->Below(3), 'G');
      if (kind == 1 && bases.size() > 1) bases.erase(i, 1);
      if (kind > 1) bases[i] = "ACGTN"[random_->Below(5)];
    }
    return bases;
  }

  std::string NRich(std::string bases) {
    for (char& base : bases) {
      if (random_->Below(8) == 0) base = 'N';
    }
    return bases;
  }

  // Letters that are rare in reads: ambiguity codes, lower case, RNA's U.
  std::string Rare(std::string bases) {
    for (char& base : bases) {
      if (random_->Below(20) == 0) base = "RYSWKMBDHVacgtuU."[random_->Below(17)];
    }
    return bases;
  }

  const ReferenceGenome* genome_;
  Random* random_;
};

}  // namespace cosched
