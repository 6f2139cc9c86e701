#include "engine/base/split.h"

namespace cosched {

std::string_view ToString(Elasticity elasticity) {
  switch (elasticity) {
    case Elasticity::kRigid: return "rigid";
    case Elasticity::kMoldable: return "moldable";
    case Elasticity::kMalleable: return "malleable";
  }
  return "";
}

bool ParseElasticity(std::string_view text, Elasticity* result) {
  for (Elasticity e : {Elasticity::kRigid, Elasticity::kMoldable, Elasticity::kMalleable}) {
    if (text == ToString(e)) {
      *result = e;
      return true;
    }
  }
  return false;
}

}  // namespace cosched
