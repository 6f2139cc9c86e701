#include "engine/kernels/onednn/reorder_parts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "engine/kernels/onednn/primitive.h"
#include "engine/kernels/pieces.h"
#include "engine/pool/thread_pools.h"

namespace cosched::onednn {
namespace {

using dnnl::memory;

// Multiples of what layouts block channels by: 16 and 32, 64, or 48.
constexpr int64_t kUnits[] = {64, 48};

int64_t WantedParts(const memory::desc& from, const memory::desc& to, const KernelSpec& spec) {
  double values = 1;  // Those between the rows of a part of a larger matrix are none of its own.
  for (const int64_t size : from.get_dims()) values *= static_cast<double>(size);
  const auto read = static_cast<double>(memory::data_type_size(from.get_data_type()));
  const Work work{0, values * read + static_cast<double>(to.get_size())};
  const double seconds = PieceSeconds(spec.piece_time, spec.Threads());
  return std::max<int64_t>(static_cast<int64_t>(std::ceil(work.Seconds(spec.rates) / seconds)), 1);
}

std::byte* At(void* memory, int64_t offset, const memory::desc& descriptor) {
  const auto bytes =
      static_cast<int64_t>(memory::data_type_size(descriptor.get_data_type())) * offset;
  return static_cast<std::byte*>(memory) + bytes;
}

}  // namespace

ReorderParts::ReorderParts(const memory::desc& from, const memory& to, const KernelSpec& spec)
    : to_(to) {
  const memory::dims sizes = from.get_dims();
  const auto side =
      static_cast<size_t>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
  const int64_t parts = WantedParts(from, to.get_desc(), spec);
  const bool same = from == to.get_desc();
  if (same) CutAsItIs(from, parts);
  const bool cut = !same && parts > 1 &&
                   std::any_of(std::begin(kUnits), std::end(kUnits),
                               [&](int64_t unit) { return Cut(from, side, unit, parts); });
  if (!same && !cut) parts_ = {{from, to.get_desc(), 0, 0}};
  for (const Part& part : parts_) {
    const bool known = std::any_of(
        primitives_.begin(), primitives_.end(),
        [&](const Primitive& other) { return other.from == part.from && other.to == part.to; });
    if (known) continue;
    const dnnl::reorder::primitive_desc descriptor(CpuEngine(), part.from, CpuEngine(), part.to);
    primitives_.push_back({part.from, part.to, dnnl::reorder(descriptor)});
  }
}

// A copy. Not of parts in their shapes: oneDNN 3.7 takes a part whose layout is the same on both
// sides for dense, also where other parts lie between its rows (uxlfoundation/oneDNN#3280).
void ReorderParts::CutAsItIs(const memory::desc& from, int64_t parts) {
  const auto elements =
      static_cast<int64_t>(from.get_size() / memory::data_type_size(from.get_data_type()));
  const Division division{elements, std::min(parts, elements)};
  parts_.clear();
  for (int64_t i = 0; i < division.parts; ++i) {
    const memory::desc part({division.Size(i)}, from.get_data_type(), memory::format_tag::a);
    parts_.push_back({part, part, division.Begin(i), division.Begin(i)});
  }
}

// False if one of the layouts has no such parts.
bool ReorderParts::Cut(const memory::desc& from, size_t side, int64_t unit, int64_t parts) {
  const memory::dims sizes = from.get_dims();
  const int64_t units = sizes[side] / unit;
  if (units < 2) return false;
  const Division division{units, std::min(parts, units)};
  parts_.clear();
  for (int64_t i = 0; i < division.parts; ++i) {
    const int64_t begin = division.Begin(i) * unit;
    const bool last = i + 1 == division.parts;
    memory::dims part = sizes, offset(sizes.size(), 0);
    part[side] = (last ? sizes[side] : division.Begin(i + 1) * unit) - begin;
    offset[side] = begin;
    const auto cut = [&](const memory::desc& whole) {
      return whole.submemory_desc(part, offset, /*allow_empty=*/true);
    };
    // Where a part begins is said by its address, so that equal ones share a primitive.
    const memory::desc from_at = cut(from), to_at = cut(to_.get_desc());
    if (!from_at || !to_at) return false;
    const memory::dims none(sizes.size(), 0);
    memory::desc from_part = from.submemory_desc(part, none, true);
    memory::desc to_part = to_.get_desc().submemory_desc(part, none, true);
    if (from_part && to_part) {
      parts_.push_back(
          {from_part, to_part, from_at.get_submemory_offset(), to_at.get_submemory_offset()});
    } else {
      parts_.push_back({from_at, to_at, 0, 0});
    }
  }
  return true;
}

dnnl::reorder ReorderParts::PrimitiveOf(const Part& part) {
  return std::find_if(
             primitives_.begin(), primitives_.end(),
             [&](const Primitive& other) { return other.from == part.from && other.to == part.to; })
      ->reorder;
}

void ReorderParts::Execute(int part, void* from, dnnl::stream* stream) {
  const Part& now = parts_[static_cast<size_t>(part)];
  memory source(now.from, CpuEngine(), At(from, now.from_offset, now.from));
  memory target(now.to, CpuEngine(), At(to_.get_data_handle(), now.to_offset, now.to));
  PrimitiveOf(now).execute(*stream, source, target);
}

}  // namespace cosched::onednn
