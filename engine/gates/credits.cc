#include "engine/gates/credits.h"

#include <algorithm>

#include "engine/base/check.h"

namespace cosched {

Credits::Credits(int capacity) : capacity_(capacity) {
  CHECK(capacity >= 1) << capacity << " credits";
}

int Credits::Left() const { return std::max(0, capacity_ - out_); }

void Credits::Take() {
  CHECK(Left() > 0) << out_ << " of " << capacity_ << " credits are out";
  ++out_;
}

void Credits::Return() {
  CHECK(out_ > 0) << "a credit came back that nobody took";
  --out_;
}

void Credits::SetCapacity(int capacity) {
  CHECK(capacity >= 1) << capacity << " credits";
  capacity_ = capacity;
}

}  // namespace cosched
