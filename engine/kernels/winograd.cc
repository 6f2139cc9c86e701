#include "engine/kernels/winograd.h"

#include <algorithm>

namespace cosched {
namespace {

// Of vectors of channels; others would need a remainder everywhere.
constexpr int64_t kLanes = 16;
// Transformed values of a block, for each thread: about a second-level cache.
constexpr double kCacheBytes = 1 << 20;
// Products of fewer rows read their filter for too little work.
constexpr int64_t kLeastRows = 16;
// Tiles whose products are summed before the sum is written: reading and writing it costs a quarter
// of them.
constexpr int64_t kLeastSummed = 64;
// What generated code reaches of Work's flops in products of some tens of rows.
constexpr double kProductEfficiency = 0.9;
// A filter is read ahead while others are multiplied; so much of the time is still to be waited
// for.
constexpr double kFilterBytesPerSecond = 25e9;

// Over a filter that is new in each step: transformed, packed and read.
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

}  // namespace

WinogradTiles::WinogradTiles(const Window& w, int of_size)
    : size(of_size),
      rows((w.out_height + of_size - 1) / of_size),
      columns((w.out_width + of_size - 1) / of_size),
      tiles(w.batch * rows * columns) {}

double WinogradTiles::Seconds(const Window& w) const {
  return static_cast<double>(tiles) * TileSeconds(w, *this);
}

int ChooseWinograd(const Window& w, double direct_seconds, WinogradFilterIs filter) {
  const bool fits = w.rows == 3 && w.columns == 3 && w.stride_height == 1 && w.stride_width == 1 &&
                    w.dilation_height == 1 && w.dilation_width == 1 && w.groups == 1 &&
                    w.channels % kLanes == 0 && w.out_channels % kLanes == 0;
  if (!fits) return 0;
  // Worth it from a seventh less on: the sum over the window rounds less.
  const double passes = filter == WinogradFilterIs::kConstant ? 1 : kFilterPasses;
  double best = 0.85 * (direct_seconds + passes * FilterSeconds(w, 9));
  int chosen = 0;
  for (int size : {2, 4}) {
    const WinogradTiles tiles(w, size);
    const double seconds = tiles.Seconds(w) + passes * FilterSeconds(w, tiles.Points());
    if (seconds >= best) continue;
    best = seconds;
    chosen = size;
  }
  return chosen;
}

namespace {

WinogradBlocks Divide(const Window& w, const WinogradTiles& tiles, int threads, int64_t least_tiles,
                      std::chrono::microseconds piece_time) {
  const double bytes_of_tile =
      static_cast<double>(tiles.Points() * (w.channels + w.out_channels)) * sizeof(float);
  WinogradBlocks result;
  result.blocks = Division::Of(tiles.tiles, bytes_of_tile, kCacheBytes * threads);
  const int64_t most = std::max<int64_t>(tiles.tiles / least_tiles, 1);
  result.blocks.parts = std::min(result.blocks.parts, most);
  const double seconds_of_block =
      TileSeconds(w, tiles) * static_cast<double>(result.blocks.Size(0)) / threads;
  result.pieces =
      Division::Of(result.blocks.parts, seconds_of_block, PieceSeconds(piece_time, threads));
  return result;
}

}  // namespace

WinogradBlocks DivideWinograd(const Window& w, const WinogradTiles& tiles, int threads,
                              std::chrono::microseconds piece_time) {
  return Divide(w, tiles, threads, kLeastRows * threads, piece_time);
}

WinogradBlocks DivideWinogradGradient(const Window& w, const WinogradTiles& tiles, int threads,
                                      std::chrono::microseconds piece_time) {
  return Divide(w, tiles, threads, kLeastSummed, piece_time);
}

}  // namespace cosched
