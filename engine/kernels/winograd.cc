#include "engine/kernels/winograd.h"

#include <algorithm>

#include "engine/base/cache_sizes.h"

namespace cosched {
namespace {

// Of vectors of channels; others would need a remainder everywhere.
constexpr int64_t kLanes = 16;
// Products of fewer rows read their filter for too little work.
constexpr double kLeastRows = 16;
// Tiles whose products are summed before the sum is written: reading and writing it costs a quarter
// of them.
constexpr double kLeastSummed = 64;
// What generated code reaches of Work's flops in products of some tens of rows.
constexpr double kProductEfficiency = 0.9;
// Filters and sums are read ahead while others are multiplied; so much is still to be waited for.
constexpr double kFilterBytesPerSecond = 25e9;
// Over a filter that is transformed, packed and read, or summed and transformed back.
constexpr double kFilterPasses = 4;

double FilterSeconds(const Window& w, int64_t points) {
  return static_cast<double>(points * w.channels * w.out_channels) * sizeof(float) /
         kFilterBytesPerSecond;
}

// To transform a tile of one channel, in or out (measured on cores with AVX-512).
double TransformSeconds(int size) { return size == 4 ? 15e-9 : 6e-9; }

// Of the products and transforms of one tile.
double TileSeconds(const Window& w, const WinogradTiles& tiles) {
  const double products = 2 * static_cast<double>(tiles.Points() * w.channels * w.out_channels);
  return products / (Work::kFlopsPerSecond * kProductEfficiency) +
         TransformSeconds(tiles.size) * static_cast<double>(w.channels + w.out_channels);
}

double Passes(WinogradUse use) { return use == WinogradUse::kConstantFilter ? 1 : kFilterPasses; }

}  // namespace

WinogradTiles::WinogradTiles(const Window& w, int of_size)
    : size(of_size),
      rows((w.out_height + of_size - 1) / of_size),
      columns((w.out_width + of_size - 1) / of_size),
      tiles(w.batch * rows * columns) {}

WinogradDivision DivideWinograd(const Window& w, const WinogradTiles& tiles, WinogradUse use,
                                int threads, std::chrono::microseconds piece_time) {
  const double bytes_of_tile =
      static_cast<double>(tiles.Points() * (w.channels + w.out_channels)) * sizeof(float);
  const double seconds_of_tile = TileSeconds(w, tiles);
  const double seconds = PieceSeconds(piece_time, threads);
  const auto cache = static_cast<double>(ThisMachinesSecondLevelCache().bytes);
  // Larger only where it would be too little work for so many threads: one thread alone finds less
  // of a larger block in its cache.
  double wanted = std::max(kWinogradCaches * cache / bytes_of_tile,
                           threads * kFurtherTaskSeconds / seconds_of_tile);
  if (use == WinogradUse::kFilterGradient) wanted = std::max(wanted, kLeastSummed);
  const double most = std::max(std::min(wanted, seconds / seconds_of_tile), kLeastRows);
  WinogradDivision result;
  result.blocks = Division::Of(tiles.tiles, 1, most);
  const double seconds_of_block = seconds_of_tile * static_cast<double>(result.blocks.Size(0));
  result.tasks = TasksOf(seconds_of_block, threads);
  result.pieces = Division::Of(result.blocks.parts, seconds_of_block, seconds);
  result.filter_is_a_piece = use != WinogradUse::kConstantFilter &&
                             kFilterPasses * FilterSeconds(w, tiles.Points()) > seconds / 4;
  return result;
}

int ChooseWinograd(const Window& w, double direct_seconds, WinogradUse use, int threads,
                   std::chrono::microseconds piece_time) {
  const bool fits = w.rows == 3 && w.columns == 3 && w.stride_height == 1 && w.stride_width == 1 &&
                    w.dilation_height == 1 && w.dilation_width == 1 && w.groups == 1 &&
                    w.channels % kLanes == 0 && w.out_channels % kLanes == 0;
  if (!fits) return 0;
  // Worth it from a seventh less on: the sum over the window rounds less.
  double best = 0.85 * (direct_seconds + Passes(use) * FilterSeconds(w, w.rows * w.columns));
  int chosen = 0;
  for (int size : {2, 4}) {
    const WinogradTiles tiles(w, size);
    double passes = Passes(use);
    if (use == WinogradUse::kFilterGradient)  // Two over the sum in each block.
      passes +=
          2 * static_cast<double>(DivideWinograd(w, tiles, use, threads, piece_time).blocks.parts);
    const double seconds = static_cast<double>(tiles.tiles) * TileSeconds(w, tiles) +
                           passes * FilterSeconds(w, tiles.Points());
    if (seconds >= best) continue;
    best = seconds;
    chosen = size;
  }
  return chosen;
}

}  // namespace cosched
