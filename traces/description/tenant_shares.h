#pragma once
// How many arrivals are whose, in bounded memory: exact while there are at most kMostTenants.
// Beyond twice as many, all counts are lowered by that of the (kMostTenants + 1)-th largest and
// those that reach zero are forgotten (Misra and Gries, "Finding repeated elements", 1982, in
// batches as Anderson et al., IMC 2017, do it). A count is then too low by at most `too_low`, which
// stays below arrivals / kMostTenants. Not thread-safe.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cosched {

class TenantShares {
 public:
  static constexpr size_t kMostTenants = 50'000;
  // Bytes of all names together; beyond them the less frequent half is forgotten early.
  static constexpr size_t kMostNameBytes = 32 << 20;

  explicit TenantShares(size_t most_tenants = kMostTenants);

  void Add(std::string_view tenant) {
    if (tenant != last_name_ || tenants_.empty()) Find(tenant);
    ++tenants_[last_].count;
    ++arrivals_;
  }

  struct Share {
    std::string tenant;
    int64_t arrivals = 0;
  };
  struct Summary {
    std::vector<Share> largest;  // Largest first; of equals by name.
    int64_t others = 0;          // Arrivals of all further ones.
    int64_t tenants = 0;         // At least, where !exact.
    bool exact = true;
    int64_t too_low = 0;  // What a count may lack.
  };
  Summary Summarize(size_t most_listed) const;

 private:
  struct Tenant {
    std::string name;
    uint64_t hash = 0;
    int64_t count = 0;
  };

  void Find(std::string_view tenant);  // Sets last_; adds the tenant if it is new.
  uint32_t* Slot(std::string_view tenant, uint64_t hash);
  void Forget();
  void Rehash(size_t slots);

  const size_t most_tenants_;
  std::vector<Tenant> tenants_;
  std::vector<uint32_t> slots_;  // Open addressing; 1 + the index in tenants_, 0 = free.
  size_t name_bytes_ = 0;
  size_t last_ = 0;  // Whose the last arrival was.
  std::string_view last_name_;
  int64_t arrivals_ = 0;
  int64_t too_low_ = 0;
  size_t most_at_once_ = 0;
};

}  // namespace cosched
