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
