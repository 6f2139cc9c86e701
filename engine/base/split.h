#pragma once
// How a tenant divides its cores, and which of the field's elasticity classes it belongs to.
// Values; used on every seam.

#include <compare>
#include <string_view>

namespace cosched {

// inter = nodes of the graph that may run at once; intra = threads that one node's kernel may use.
struct Split {
  int inter = 1;
  int intra = 1;
  friend auto operator<=>(const Split&, const Split&) = default;
};

// The compute threads of a split: its inter-op workers and the helpers that join their loops. The
// worker that calls a loop works in it, so {1, k} are k threads and {2, 2} are 3; with none of one
// kind nothing computes.
constexpr int ThreadsOf(Split split) {
  return split.inter <= 0 || split.intra <= 0 ? 0 : split.inter + split.intra - 1;
}

// The default split of k cores: measured best for CNNs (Libutti's thesis forces inter = 1 too).
constexpr Split DefaultSplit(int cores) { return {1, cores > 0 ? cores : 1}; }

enum class Elasticity {
  kRigid,      // threads = the cores it asked for (preferred), whatever it is given, as stock
               // TensorFlow
  kMoldable,   // threads = the cores it is given at its start, never changed afterwards
  kMalleable,  // threads follow the grant while it runs
};

std::string_view ToString(Elasticity elasticity);  // "rigid", "moldable", "malleable"
bool ParseElasticity(std::string_view text,
                     Elasticity* result);  // False if the text is none of them.

}  // namespace cosched
