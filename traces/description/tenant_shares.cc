#include "traces/description/tenant_shares.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace cosched {
namespace {

constexpr size_t kFewestSlots = 64;  // A power of two, as all numbers of slots are.

}  // namespace

TenantShares::TenantShares(size_t most_tenants)
    : most_tenants_(most_tenants), slots_(kFewestSlots) {}

uint32_t* TenantShares::Slot(std::string_view tenant, uint64_t hash) {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const Tenant& other = tenants_[slots_[slot] - 1];
    if (other.hash == hash && other.name == tenant) break;
  }
  return &slots_[slot];
}

void TenantShares::Find(std::string_view tenant) {
  const uint64_t hash = std::hash<std::string_view>()(tenant);
  uint32_t* slot = Slot(tenant, hash);
  if (*slot == 0) {
    if (tenants_.size() >= 2 * most_tenants_ || name_bytes_ > kMostNameBytes) {
      Forget();
    } else if (2 * (tenants_.size() + 1) > slots_.size()) {
      Rehash(2 * slots_.size());
    }
    slot = Slot(tenant, hash);
    tenants_.push_back({.name = std::string(tenant), .hash = hash, .count = 0});
    name_bytes_ += tenant.size();
    most_at_once_ = std::max(most_at_once_, tenants_.size());
    *slot = static_cast<uint32_t>(tenants_.size());
  }
  last_ = *slot - 1;
  last_name_ = tenants_[last_].name;
}

void TenantShares::Forget() {
  const size_t kept = std::min(most_tenants_, tenants_.size() / 2);
  std::vector<int64_t> counts;
  for (const Tenant& tenant : tenants_) counts.push_back(tenant.count);
  const auto largest_forgotten = counts.begin() + static_cast<std::ptrdiff_t>(kept);
  std::nth_element(counts.begin(), largest_forgotten, counts.end(), std::greater<>());
  const int64_t lowered = *largest_forgotten;
  too_low_ += lowered;
  for (Tenant& tenant : tenants_) tenant.count -= lowered;
  std::erase_if(tenants_, [](const Tenant& tenant) { return tenant.count <= 0; });
  name_bytes_ = 0;
  for (const Tenant& tenant : tenants_) name_bytes_ += tenant.name.size();
  Rehash(slots_.size());
}

void TenantShares::Rehash(size_t slots) {
  slots_.assign(slots, 0);
  for (size_t i = 0; i < tenants_.size(); ++i) {
    *Slot(tenants_[i].name, tenants_[i].hash) = static_cast<uint32_t>(i) + 1;
  }
}

TenantShares::Summary TenantShares::Summarize(size_t most_listed) const {
  Summary summary;
  summary.exact = too_low_ == 0;
  summary.too_low = too_low_;
  summary.tenants = static_cast<int64_t>(summary.exact ? tenants_.size() : most_at_once_);
  std::vector<const Tenant*> sorted;
  for (const Tenant& tenant : tenants_) sorted.push_back(&tenant);
  const size_t listed = std::min(most_listed, sorted.size());
  std::partial_sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(listed),
                    sorted.end(), [](const Tenant* a, const Tenant* b) {
                      return std::pair(-a->count, std::string_view(a->name)) <
                             std::pair(-b->count, std::string_view(b->name));
                    });
  summary.others = arrivals_;
  for (size_t i = 0; i < listed; ++i) {
    summary.largest.push_back({sorted[i]->name, sorted[i]->count});
    summary.others -= sorted[i]->count;
  }
  return summary;
}

}  // namespace cosched
