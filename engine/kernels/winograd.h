#pragma once
// Winograd's minimal filtering for convolutions of 3x3 windows (Lavin and Gray, CVPR 2016, section
// 4): F(m x m, 3 x 3) computes tiles of m x m outputs from (m + 2) x (m + 2) inputs with
// (m + 2)^2 multiplications for each pair of channels instead of 9 m^2. Images and filters are
// transformed, multiplied as (m + 2)^2 matrix products over channels, and transformed back.
//
// Which convolutions are computed so, and how their tiles are divided: by their shapes, this
// machine's caches and the session's rates. Called by kernels when they are created.

#include <chrono>
#include <cstdint>

#include "engine/kernels/pieces.h"
#include "engine/kernels/window.h"

namespace cosched {

// The tiles of all images of a convolution, row by row.
struct WinogradTiles {
  int size = 4;  // m: 2 or 4.
  int64_t rows = 0, columns = 0, tiles = 0;

  WinogradTiles(const Window& w, int size);
  int64_t Points() const { return (size + 2) * (size + 2); }
};

// What is computed, and so what else than products takes time.
enum class WinogradUse {
  kConstantFilter,  // Transformed once.
  kNewFilter,       // Transformed in each step;
  kTurnedFilter,    // … for the gradient of the image.
  kFilterGradient,  // A sum over all tiles, transformed back.
};

// For whom.
struct WinogradConditions {
  WinogradUse use = WinogradUse::kConstantFilter;
  int threads = 1;
  std::chrono::microseconds piece_time = kPieceTime;
  KernelRates rates = {};
};

// Tiles in blocks whose transformed values fill a core's second-level cache, and pieces of so many
// blocks, each about the piece time of one thread. A block is computed by one thread, but for those
// that find no other block to begin with. Blocks of a filter's gradient are added to one sum, one
// after the other, each by all threads; they are twice as large, as the sum has to be read again.
struct WinogradDivision {
  Division blocks;                 // The tiles' division.
  int tasks = 1;                   // At most, that share a block.
  Division pieces;                 // The blocks' division.
  bool filter_is_a_piece = false;  // One piece more, as its transform takes long.

  int Pieces() const { return static_cast<int>(pieces.parts) + (filter_is_a_piece ? 1 : 0); }
};
WinogradDivision DivideWinograd(const Window& w, const WinogradTiles& tiles,
                                const WinogradConditions& conditions);

// The tile size for which the convolution takes less time than as a sum over its window; 0 if there
// is none. direct_seconds: what that takes on one thread, its filter left out.
int ChooseWinograd(const Window& w, double direct_seconds, const WinogradConditions& conditions);

// Under which ChooseWinograd gives this wherever it has a choice: a tile size, or 0.
KernelRates RatesThatChoose(int size);

// A layer to measure with or to tell the choice of: one image of side x side, padded, as many
// channels out as in.
Window SquareLayer(int64_t side, int64_t channels);
// ChooseWinograd for it on one thread, the filter a constant.
int ChooseForSquareLayer(int64_t side, int64_t channels, const KernelRates& rates);

}  // namespace cosched
