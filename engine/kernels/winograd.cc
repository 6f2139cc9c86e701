#include "engine/kernels/winograd.h"

#include <algorithm>

#include "engine/base/cache_sizes.h"

namespace cosched {
namespace {

// Channels of a vector; other counts would need a remainder everywhere.
constexpr int64_t kLanes = 16;
// Products of fewer rows read their filter for too little work.
constexpr double kLeastRows = 16;
// Tiles whose products are summed before the sum is written: reading and writing it costs a quarter
// of them.
constexpr double kLeastSummed = 64;
// Over a filter that is reordered for a sum over the window, or added up for one.
constexpr double kDirectPasses = 4;

double FilterBytes(const Window& w, int64_t points) {
  return static_cast<double>(points * w.channels * w.out_channels) * sizeof(float);
}

// The filter's time in a convolution as a sum over its window.
double DirectFilterSeconds(const Window& w, const WinogradConditions& conditions) {
  const double passes = conditions.use == WinogradUse::kConstantFilter ? 1 : kDirectPasses;
  return passes * FilterBytes(w, w.rows * w.columns) / conditions.rates.filter_bytes;
}

// What a transformed filter takes in a step, however many tiles there are.
double FilterSeconds(const Window& w, int64_t points, const WinogradConditions& conditions) {
  const KernelRates& rates = conditions.rates;
  const double bytes = FilterBytes(w, points);
  switch (conditions.use) {
    case WinogradUse::kConstantFilter: return bytes / rates.filter_bytes;
    case WinogradUse::kNewFilter: return bytes / rates.new_filter_bytes;
    case WinogradUse::kTurnedFilter: return bytes / rates.turned_filter_bytes;
    case WinogradUse::kFilterGradient: return bytes / rates.summed_filter_bytes;
  }
  return 0;
}

// The time of the products and transforms of one tile.
double TileSeconds(const Window& w, const WinogradTiles& tiles, const KernelRates& rates) {
  const double products = 2 * static_cast<double>(tiles.Points() * w.channels * w.out_channels);
  const double transform = tiles.size == 4 ? rates.transform_4_seconds : rates.transform_2_seconds;
  return products / rates.product_flops +
         transform * static_cast<double>(w.channels + w.out_channels);
}

// Once there are not enough blocks left in a piece for all.
int ThreadsOfABlock(const Division& pieces, int threads) {
  int most = 1;
  for (const int64_t piece : {int64_t{0}, pieces.parts - 1}) {
    const auto left = static_cast<int>(pieces.Size(piece) % threads);
    if (left > 0) most = std::max(most, (threads + left - 1) / left);
  }
  return most;
}

}  // namespace

WinogradTiles::WinogradTiles(const Window& w, int of_size)
    : size(of_size),
      rows((w.out_height + of_size - 1) / of_size),
      columns((w.out_width + of_size - 1) / of_size),
      tiles(w.batch * rows * columns) {}

WinogradDivision DivideWinograd(const Window& w, const WinogradTiles& tiles,
                                const WinogradConditions& conditions) {
  const int threads = conditions.threads;
  const bool sums = conditions.use == WinogradUse::kFilterGradient;
  const bool new_filter = conditions.use != WinogradUse::kConstantFilter;
  const double bytes_of_tile =
      static_cast<double>(tiles.Points() * (w.channels + w.out_channels)) * sizeof(float);
  const double seconds_of_tile = TileSeconds(w, tiles, conditions.rates);
  const double seconds = PieceSeconds(conditions.piece_time, threads);
  const auto cache = static_cast<double>(ThisMachinesSecondLevelCache().bytes);
  const double wanted =
      sums ? std::max(2 * cache / bytes_of_tile, kLeastSummed) : cache / bytes_of_tile;
  const double most = std::max(
      std::min(wanted, PieceSeconds(conditions.piece_time, 1) / seconds_of_tile), kLeastRows);
  WinogradDivision result;
  result.blocks = Division::Of(tiles.tiles, 1, most);
  const double seconds_of_block = seconds_of_tile * static_cast<double>(result.blocks.Size(0));
  // Who computes a long block would leave late: all share it.
  result.pieces = seconds_of_block > PieceSeconds(conditions.piece_time, 1)
                      ? Division{result.blocks.parts, result.blocks.parts}
                      : Division::Of(result.blocks.parts, seconds_of_block, seconds);
  result.tasks = sums ? TasksOfGradient(seconds_of_block, threads)
                      : TasksOf(seconds_of_block, ThreadsOfABlock(result.pieces, threads));
  result.filter_is_a_piece =
      new_filter && FilterSeconds(w, tiles.Points(), conditions) > seconds / 4;
  return result;
}

int ChooseWinograd(const Window& w, double direct_seconds, const WinogradConditions& conditions) {
  const KernelRates& rates = conditions.rates;
  const bool fits = w.rows == 3 && w.columns == 3 && w.stride_height == 1 && w.stride_width == 1 &&
                    w.dilation_height == 1 && w.dilation_width == 1 && w.groups == 1 &&
                    w.channels % kLanes == 0 && w.out_channels % kLanes == 0;
  if (!fits) return 0;
  // Worth it from a seventh less on: the sum over the window rounds less.
  double best = 0.85 * (direct_seconds + DirectFilterSeconds(w, conditions));
  int chosen = 0;
  for (int size : {2, 4}) {
    const WinogradTiles tiles(w, size);
    double seconds = static_cast<double>(tiles.tiles) * TileSeconds(w, tiles, rates) +
                     FilterSeconds(w, tiles.Points(), conditions);
    if (conditions.use == WinogradUse::kFilterGradient) {  // Two passes over the sum in each block.
      const auto blocks = static_cast<double>(DivideWinograd(w, tiles, conditions).blocks.parts);
      seconds += 2 * blocks * FilterBytes(w, tiles.Points()) / rates.filter_bytes;
    }
    if (seconds >= best) continue;
    best = seconds;
    chosen = size;
  }
  return chosen;
}

KernelRates RatesThatChoose(int size) {
  constexpr double kFree = 1e-15, kTooLong = 1e3, kFast = 1e18;
  KernelRates rates;
  rates.transform_2_seconds = size == 2 ? kFree : kTooLong;
  rates.transform_4_seconds = size == 4 ? kFree : kTooLong;
  if (size > 0) {
    rates.product_flops = rates.filter_bytes = rates.new_filter_bytes = kFast;
    rates.turned_filter_bytes = rates.summed_filter_bytes = kFast;
  }
  return rates;
}

Window SquareLayer(int64_t side, int64_t channels) {
  Window w;
  w.batch = 1;
  w.height = w.width = w.out_height = w.out_width = side;
  w.channels = w.out_channels = channels;
  w.rows = w.columns = 3;
  w.pad_top = w.pad_left = w.pad_bottom = w.pad_right = 1;
  return w;
}

int ChooseForSquareLayer(int64_t side, int64_t channels, const KernelRates& rates) {
  const Window w = SquareLayer(side, channels);
  const Work direct{2.0 * 9 * static_cast<double>(w.OutputElements() * channels),
                    static_cast<double>(w.ImageElements() + w.OutputElements()) * sizeof(float)};
  return ChooseWinograd(w, direct.Seconds(rates), {.rates = rates});
}

}  // namespace cosched
