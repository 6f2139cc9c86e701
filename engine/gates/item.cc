#include "engine/gates/item.h"

#include <algorithm>
#include <limits>

#include "engine/base/check.h"

namespace cosched {
namespace {

int32_t PartOf(int64_t index) {
  CHECK(index >= 0 && index <= std::numeric_limits<int32_t>::max()) << index << " items";
  return static_cast<int32_t>(index);
}

}  // namespace

Ordinal::Ordinal(int64_t index) : Ordinal() { parts_[0] = PartOf(index); }

size_t Ordinal::Size() const {
  return static_cast<size_t>(std::ranges::find(parts_, -1) - parts_.begin());
}

Ordinal Ordinal::Then(int64_t index) const {
  Ordinal longer = *this;
  const size_t size = Size();
  CHECK(size < kMostParts) << ToString() << " has no room for one more part";
  longer.parts_[size] = PartOf(index);
  return longer;
}

Ordinal Ordinal::Under(int64_t index) const {
  CHECK(Size() < kMostParts) << ToString() << " has no room for one more part";
  Ordinal longer(index);
  std::copy(parts_.begin(), parts_.end() - 1, longer.parts_.begin() + 1);
  return longer;
}

int64_t Ordinal::Index() const {
  CHECK(Size() == 1) << ToString() << " is more than an index";
  return parts_[0];
}

std::string Ordinal::ToString() const {
  std::string text;
  for (size_t i = 0; i < Size(); ++i) text += (i == 0 ? "" : ".") + std::to_string(parts_[i]);
  return text;
}

}  // namespace cosched
