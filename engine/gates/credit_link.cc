// The words for links of credits, apart from Check(): who reads messages needs no more.
#include "engine/gates/pipeline_spec.h"

namespace cosched {

std::string_view ToString(CreditLink link) {
  return link == CreditLink::kLinear ? "linear" : "end-to-end";
}

bool ParseCreditLink(std::string_view text, CreditLink* result) {
  for (const CreditLink link : {CreditLink::kLinear, CreditLink::kEndToEnd}) {
    if (text != ToString(link)) continue;
    *result = link;
    return true;
  }
  return false;
}

}  // namespace cosched
