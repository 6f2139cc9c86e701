// Run while configuring: is a mapping buffer of this libminimap2 what aligner.cc takes it for? Maps a
// read with a repeat in it and compares the mirrored members with what the library's own functions
// say of the same read. Exit code 0 if they agree.

#include <mmpriv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Mirror {
  void* memory;
  int repeat_length, fragment_gap;
};

enum { kRepeat = 60, kCopies = 8, kUnique = 150 };

static void Draw(unsigned* state, char* bases, int count) {
  for (int i = 0; i < count; ++i) {
    *state = *state * 1664525u + 1013904223u;
    bases[i] = "ACGT"[*state >> 30];
  }
}

int main(void) {
  char reference[kCopies * (kRepeat + kUnique) + 1] = "", repeat[kRepeat];
  unsigned state = 1;
  Draw(&state, repeat, kRepeat);
  for (int i = 0; i < kCopies; ++i) {
    char* at = reference + i * (kRepeat + kUnique);
    memcpy(at, repeat, kRepeat);
    Draw(&state, at + kRepeat, kUnique);
  }
  const char* text = reference;
  const char* name = "reference";
  mm_idxopt_t indexing;
  mm_mapopt_t mapping;
  mm_set_opt(NULL, &indexing, &mapping);
  mm_set_opt("sr", &indexing, &mapping);
  mapping.flag |= MM_F_CIGAR | MM_F_OUT_SAM;
  mapping.mid_occ = 3;
  mapping.max_occ = 0;
  mm_idx_t* index = mm_idx_str(indexing.w, indexing.k, 0, indexing.bucket_bits, 1, &text, &name);

  const int length = kRepeat + kUnique;
  int hits = 0;
  mm_tbuf_t* buffer = mm_tbuf_init();
  mm_reg1_t* found = mm_map(index, length, reference, &hits, buffer, &mapping, "read");
  struct Mirror mirror;
  memcpy(&mirror, buffer, sizeof mirror);
  void* memory = mm_tbuf_get_km(buffer);

  mm128_v minimizers = {0, 0, 0};
  mm_sketch(NULL, reference, length, indexing.w, indexing.k, 0, 0, &minimizers);
  int matches = 0, repeat_length = -1, positions = 0;
  int64_t anchors = 0;
  uint64_t* places = NULL;
  free(mm_collect_matches(NULL, &matches, length, mapping.mid_occ, mapping.max_max_occ, mapping.occ_dist,
                          index, &minimizers, &anchors, &repeat_length, &positions, &places));
  free(places);
  free(minimizers.a);
  const int gap = mapping.max_frag_len - length;  // As minimap2 bounds a fragment's gaps.
  printf("hits %d, memory %p / %p, repeat %d / %d, gap %d / %d\n", hits, mirror.memory, memory,
         mirror.repeat_length, repeat_length, mirror.fragment_gap, gap);
  const int same = mirror.memory == memory && repeat_length > 0 &&
                   mirror.repeat_length == repeat_length && mirror.fragment_gap == gap;
  for (int i = 0; i < hits; ++i) free(found[i].p);
  free(found);
  mm_tbuf_destroy(buffer);
  mm_idx_destroy(index);
  return same ? 0 : 1;
}
