// MatMul; a transposed operand is only another pair of strides. A long one is cut into tiles of the
// product, about square so that operands are read few times. Where several tiles read one part of b
// it is packed once for all of them, as the primitive would do again for each; and where several
// read one part of a transposed `a`, so is that.

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "engine/kernels/factories.h"
#include "engine/kernels/onednn/primitive.h"
#include "engine/kernels/parameters.h"
#include "engine/kernels/pieces.h"
#include "engine/pool/thread_pools.h"

namespace cosched::onednn {
namespace {

using dnnl::memory;

memory::desc Stored(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  return {{rows, columns}, memory::data_type::f32, memory::dims{row_stride, column_stride}};
}

// Rows or columns of the product in parts, each but the last a multiple of what the generated code
// works on at a time. The last is no shorter than that: of a single row of a transposed operand
// oneDNN 3.7.2 reads the wrong elements.
struct Side {
  Side(int64_t size_of_all, int64_t unit_size, int64_t parts)
      : size(size_of_all), unit(unit_size), units{Units(size_of_all, unit_size), parts} {}
  static int64_t Units(int64_t size, int64_t unit) { return std::max<int64_t>(size / unit, 1); }
  int64_t Begin(int64_t part) const {
    return part == units.parts ? size : units.Begin(part) * unit;
  }
  int64_t Size(int64_t part) const { return Begin(part + 1) - Begin(part); }

  int64_t size, unit;
  Division units;
};
constexpr int64_t kRowUnit = 16, kColumnUnit = 64;

struct Grid {
  int64_t rows = 1, columns = 1;  // Parts of each side.
};

// About `tiles` of them, each side in a power of two (of an odd division, ragged tiles cost up to a
// tenth): the grid that reads least. `a` is read for each part of the columns, `b` for each of the
// rows.
Grid LeastTraffic(const MatMulParameters& p, int64_t tiles) {
  // Tiles read a transposed b in columns, which is slow; packing it is slower.
  const int64_t b_weight = p.transpose_b ? 8 : 1;
  const auto most_rows = static_cast<uint64_t>(std::min(tiles, Side::Units(p.m, kRowUnit)));
  const auto most_columns = static_cast<uint64_t>(Side::Units(p.n, kColumnUnit));
  Grid best;
  int64_t least = INT64_MAX;
  for (uint64_t rows = 1; rows <= most_rows; rows *= 2) {
    const uint64_t columns =
        std::bit_floor(std::min(static_cast<uint64_t>(tiles) / rows, most_columns));
    const Grid grid{static_cast<int64_t>(rows), static_cast<int64_t>(columns)};
    // Much fewer tiles than wanted are for products that have no more.
    const int64_t missing = tiles / (grid.rows * grid.columns);
    const int64_t traffic = (grid.rows * p.n * b_weight + grid.columns * p.m) * missing;
    if (traffic >= least) continue;
    least = traffic;
    best = grid;
  }
  return best;
}

class Product {
 public:
  Product(PrimitiveKernel* kernel, const MatMulParameters& p, const Grid& grid)
      : kernel_(*kernel),
        p_(p),
        packs_a_(grid.columns > 1 && p.transpose_a),
        packs_b_(grid.rows > 1 && !p.transpose_b) {}

  // What order tiles have to be added in. Either way each part of a and b is packed once.
  bool RowAfterRow() const { return packs_a_; }

  void AddTile(int64_t row, int64_t rows, int64_t column, int64_t columns) {
    const Tile& tile = TileOf(rows, column, columns);
    PrimitiveKernel::Piece piece{{{tile.a, false, 0, row * (p_.transpose_a ? 1 : p_.k)},
                                  {tile.b, false, 1, column * (p_.transpose_b ? p_.k : 1)},
                                  {tile.product, true, 0, row * p_.n + column}},
                                 {}};
    if (tile.packed_a && row != packed_row_) piece.steps.push_back(tile.pack_a);
    const bool has_b = RowAfterRow() ? row > 0 : column == packed_column_;
    if (tile.packed_b && !has_b) piece.steps.push_back(tile.pack_b);
    packed_row_ = row;
    packed_column_ = column;
    piece.steps.push_back(tile.multiply);
    kernel_.AddPiece(std::move(piece));
  }

 private:
  struct Tile {
    int64_t rows, columns, column;
    memory a, b, product;
    memory packed_a, packed_b;  // None where the primitive takes a or b as it is.
    PrimitiveKernel::StepId pack_a = 0, pack_b = 0, multiply = 0;
  };

  const Tile& TileOf(int64_t rows, int64_t column, int64_t columns) {
    if (!RowAfterRow()) column = 0;  // All columns' parts of b are packed into the same memory.
    const auto found = std::find_if(tiles_.begin(), tiles_.end(), [&](const Tile& tile) {
      return tile.rows == rows && tile.columns == columns && tile.column == column;
    });
    return found == tiles_.end() ? tiles_.emplace_back(MakeTile(rows, column, columns)) : *found;
  }

  Tile MakeTile(int64_t rows, int64_t column, int64_t columns) {
    const memory::desc a =
        p_.transpose_a ? Stored(rows, p_.k, 1, p_.m) : Stored(rows, p_.k, p_.k, 1);
    const memory::desc b =
        p_.transpose_b ? Stored(p_.k, columns, 1, p_.k) : Stored(p_.k, columns, p_.n, 1);
    const memory::desc product = Stored(rows, columns, p_.n, 1);
    Tile tile{rows,
              columns,
              column,
              PrimitiveKernel::Unbound(a),
              PrimitiveKernel::Unbound(b),
              PrimitiveKernel::Unbound(product),
              {},
              {}};
    const memory::desc a_wanted = packs_a_ ? Stored(rows, p_.k, p_.k, 1) : a;
    const auto describe = [&](const memory::desc& weights) {
      return dnnl::matmul::primitive_desc(CpuEngine(), a_wanted, weights, product, Attributes());
    };
    const auto descriptor =
        packs_b_
            ? BatchReduced(memory::desc(b.get_dims(), b.get_data_type(), memory::format_tag::any),
                           Packed(b), describe)
            : describe(b);
    const memory::desc b_wanted = descriptor.weights_desc();
    if (a_wanted != a) {
      tile.packed_a = PackedMemory(a_wanted, 0, &packed_a_);
      tile.pack_a = kernel_.AddReorder(tile.a, tile.packed_a);
    }
    if (b_wanted != b) {
      tile.packed_b = PackedMemory(b_wanted, column, &packed_b_);
      tile.pack_b = kernel_.AddReorder(tile.b, tile.packed_b);
    }
    tile.multiply =
        kernel_.AddStep(descriptor, {{DNNL_ARG_SRC, a_wanted != a ? tile.packed_a : tile.a},
                                     {DNNL_ARG_WEIGHTS, b_wanted != b ? tile.packed_b : tile.b},
                                     {DNNL_ARG_DST, tile.product}});
    return tile;
  }

  // One layout for all tiles of as many columns, whatever their rows: they share what is packed.
  // Zero where none is.
  memory::desc Packed(const memory::desc& b) const {
    for (const auto& [column, packed] : packed_b_) {
      if (packed.get_desc().get_dims() == b.get_dims()) return packed.get_desc();
    }
    return {};
  }
  // By what it is a part of.
  using PackedParts = std::vector<std::pair<int64_t, memory>>;
  memory PackedMemory(const memory::desc& wanted, int64_t part, PackedParts* parts) {
    for (const auto& [other, packed] : *parts) {
      if (other == part && packed.get_desc() == wanted) return packed;
    }
    return parts->emplace_back(part, kernel_.Keep(wanted)).second;
  }

  PrimitiveKernel& kernel_;
  const MatMulParameters& p_;
  const bool packs_a_, packs_b_;
  std::vector<Tile> tiles_;
  PackedParts packed_a_, packed_b_;
  int64_t packed_row_ = -1, packed_column_ = -1;
};

}  // namespace

std::unique_ptr<Kernel> MakeMatMul(const KernelSpec& spec) {
  const MatMulParameters p = ReadMatMul(spec.node, spec.inputs[0].shape, spec.inputs[1].shape);
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n);
  const double k = static_cast<double>(p.k);
  const Work work{2 * m * n * k, sizeof(float) * (m * k + k * n + m * n)};
  const CapacityScope scope(spec, work.Seconds(spec.rates));
  const double tiles =
      std::ceil(work.Seconds(spec.rates) / PieceSeconds(spec.piece_time, scope.Tasks()));
  const Grid grid = LeastTraffic(p, std::max<int64_t>(static_cast<int64_t>(tiles), 1));
  const Side rows(p.m, kRowUnit, grid.rows), columns(p.n, kColumnUnit, grid.columns);
  auto kernel = std::make_unique<PrimitiveKernel>(spec, scope);
  Product product(kernel.get(), p, grid);
  const auto add = [&](int64_t i, int64_t j) {
    product.AddTile(rows.Begin(i), rows.Size(i), columns.Begin(j), columns.Size(j));
  };
  if (product.RowAfterRow()) {
    for (int64_t i = 0; i < grid.rows; ++i) {
      for (int64_t j = 0; j < grid.columns; ++j) add(i, j);
    }
  } else {
    for (int64_t j = 0; j < grid.columns; ++j) {
      for (int64_t i = 0; i < grid.rows; ++i) add(i, j);
    }
  }
  return kernel;
}

}  // namespace cosched::onednn
