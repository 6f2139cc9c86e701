#include "engine/kernels/eigen/winograd_transforms.h"

#include <array>

#include "engine/kernels/eigen/activation.h"
#include "engine/kernels/eigen/views.h"

namespace cosched::eigen {
namespace {

constexpr int64_t kLanes = 16;
using Lanes = Eigen::Array<float, kLanes, 1>;
using LanesIn = Eigen::Map<const Lanes>;
using LanesOut = Eigen::Map<Lanes>;

// One dimension of F(m, 3), on values that lie `from_step` and `to_step` apart.
template <int kSize>
struct Filtering;

template <>
struct Filtering<2> {
  static constexpr int kPoints = 4;
  static void OfImage(const Lanes* x, int from_step, Lanes* y, int to_step) {
    const Lanes a = x[0], b = x[from_step], c = x[2 * from_step], d = x[3 * from_step];
    y[0] = a - c;
    y[to_step] = b + c;
    y[2 * to_step] = c - b;
    y[3 * to_step] = b - d;
  }
  static void OfProducts(const Lanes* x, int from_step, Lanes* y, int to_step) {
    const Lanes b = x[from_step], c = x[2 * from_step];
    y[0] = x[0] + b + c;
    y[to_step] = b - c - x[3 * from_step];
  }
  static void OfGradients(const Lanes* x, int from_step, Lanes* y, int to_step) {
    y[0] = x[0];
    y[to_step] = x[0] + x[from_step];
    y[2 * to_step] = x[0] - x[from_step];
    y[3 * to_step] = -x[from_step];
  }
  static constexpr double kFilter[kPoints][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
};

// Interpolated at 0, 2/3, -2/3, 3/2, -3/2 and infinity: results are off by half as much as with the
// customary 1 and 2 (Barabasz et al., ACM TOMS 2020, on the choice of points), 1.2e-6 of their size
// where the sum over a window is off by 0.2e-6.
template <>
struct Filtering<4> {
  static constexpr int kPoints = 6;
  static constexpr double p = 2. / 3, q = 3. / 2;  // q = 1 / p.
  static constexpr auto kP = static_cast<float>(p), kQ = static_cast<float>(q);
  static constexpr auto kP2 = static_cast<float>(p * p), kQ2 = static_cast<float>(q * q);
  static constexpr auto kP3 = static_cast<float>(p * p * p), kQ3 = static_cast<float>(q * q * q);
  static constexpr auto kSum = static_cast<float>(p * p + q * q);

  static void OfImage(const Lanes* x, int from_step, Lanes* y, int to_step) {
    const Lanes a = x[0], b = x[from_step], c = x[2 * from_step], d = x[3 * from_step],
                e = x[4 * from_step];
    y[0] = a - kSum * c + e;
    const Lanes even_p = e - kQ2 * c, odd_p = kP * d - kQ * b;
    y[to_step] = even_p + odd_p;
    y[2 * to_step] = even_p - odd_p;
    const Lanes even_q = e - kP2 * c, odd_q = kQ * d - kP * b;
    y[3 * to_step] = even_q + odd_q;
    y[4 * to_step] = even_q - odd_q;
    y[5 * to_step] = b - kSum * d + x[5 * from_step];
  }
  static void OfProducts(const Lanes* x, int from_step, Lanes* y, int to_step) {
    const Lanes sum_p = x[from_step] + x[2 * from_step], odd_p = x[from_step] - x[2 * from_step];
    const Lanes sum_q = x[3 * from_step] + x[4 * from_step],
                odd_q = x[3 * from_step] - x[4 * from_step];
    y[0] = x[0] + sum_p + sum_q;
    y[to_step] = kP * odd_p + kQ * odd_q;
    y[2 * to_step] = kP2 * sum_p + kQ2 * sum_q;
    y[3 * to_step] = kP3 * odd_p + kQ3 * odd_q + x[5 * from_step];
  }
  static void OfGradients(const Lanes* x, int from_step, Lanes* y, int to_step) {
    const Lanes a = x[0], b = x[from_step], c = x[2 * from_step], d = x[3 * from_step];
    y[0] = a;
    const Lanes even_p = a + kP2 * c, odd_p = kP * b + kP3 * d;
    y[to_step] = even_p + odd_p;
    y[2 * to_step] = even_p - odd_p;
    const Lanes even_q = a + kQ2 * c, odd_q = kQ * b + kQ3 * d;
    y[3 * to_step] = even_q + odd_q;
    y[4 * to_step] = even_q - odd_q;
    y[5 * to_step] = d;
  }
  // 1 by the other points' distances from each.
  static constexpr double kOfP = 1 / (2 * p * p * (p * p - q * q)),
                          kOfQ = 1 / (2 * q * q * (q * q - p * p));
  static constexpr double kFilter[kPoints][3] = {{1, 0, 0},
                                                 {kOfP, kOfP* p, kOfP* p* p},
                                                 {kOfP, -kOfP* p, kOfP* p* p},
                                                 {kOfQ, kOfQ* q, kOfQ* q* q},
                                                 {kOfQ, -kOfQ* q, kOfQ* q* q},
                                                 {0, 0, 1}};
};

// Where a tile lies.
struct Tile {
  int64_t image, row, column;
  Tile(const WinogradTiles& tiles, int64_t index)
      : image(index / (tiles.rows * tiles.columns)),
        row(index / tiles.columns % tiles.rows * tiles.size),
        column(index % tiles.columns * tiles.size) {}
};

template <int kSize>
void ImagesOf(const Window& w, const WinogradTiles& tiles, int64_t begin, int64_t end,
              const float* images, float* result, int64_t stride) {
  using Filter = Filtering<kSize>;
  constexpr int kPoints = Filter::kPoints;
  for (int64_t index = begin; index < end; ++index, result += w.channels) {
    const Tile tile(tiles, index);
    std::array<const float*, kPoints * kPoints> from;  // Null on padding.
    for (int i = 0; i < kPoints; ++i) {
      for (int j = 0; j < kPoints; ++j) {
        const int64_t y = tile.row - w.pad_top + i, x = tile.column - w.pad_left + j;
        const bool inside = y >= 0 && y < w.height && x >= 0 && x < w.width;
        from[static_cast<size_t>(i * kPoints + j)] =
            inside ? images + ((tile.image * w.height + y) * w.width + x) * w.channels : nullptr;
      }
    }
    for (int64_t c = 0; c < w.channels; c += kLanes) {
      Lanes rows[kPoints * kPoints];
      for (int j = 0; j < kPoints; ++j) {
        Lanes column[kPoints];
        for (int i = 0; i < kPoints; ++i) {
          const float* x = from[static_cast<size_t>(i * kPoints + j)];
          if (x != nullptr) {
            column[i] = LanesIn(x + c);
          } else {
            column[i].setZero();
          }
        }
        Filter::OfImage(column, 1, rows + j, kPoints);
      }
      for (int i = 0; i < kPoints; ++i) {
        Lanes points[kPoints];
        Filter::OfImage(rows + i * kPoints, 1, points, 1);
        for (int j = 0; j < kPoints; ++j)
          LanesOut(result + (i * kPoints + j) * stride + c) = points[j];
      }
    }
  }
}

// In double precision: the filter is rounded once.
template <int kSize>
void FilterOf(const WinogradFilter& shape, int64_t begin, int64_t end, const float* filter,
              float* result) {
  using Filter = Filtering<kSize>;
  using Doubles = Eigen::Array<double, kLanes, 1>;
  constexpr int kPoints = Filter::kPoints;
  const int64_t matrix = shape.rows * shape.columns;
  for (int64_t at = begin * shape.columns; at < end * shape.columns; at += kLanes) {
    Doubles rows[kPoints][3];
    for (int s = 0; s < 3; ++s) {
      Doubles column[3];
      for (int r = 0; r < 3; ++r) {
        const int tap = shape.turned ? 8 - (r * 3 + s) : r * 3 + s;
        column[r] = LanesIn(filter + tap * matrix + at).template cast<double>();
      }
      for (int i = 0; i < kPoints; ++i)
        rows[i][s] = Filter::kFilter[i][0] * column[0] + Filter::kFilter[i][1] * column[1] +
                     Filter::kFilter[i][2] * column[2];
    }
    for (int i = 0; i < kPoints; ++i) {
      for (int j = 0; j < kPoints; ++j) {
        const Doubles value = Filter::kFilter[j][0] * rows[i][0] +
                              Filter::kFilter[j][1] * rows[i][1] +
                              Filter::kFilter[j][2] * rows[i][2];
        LanesOut(result + (i * kPoints + j) * matrix + at) = value.template cast<float>();
      }
    }
  }
}

template <int kSize>
void GradientsOf(const Window& w, const WinogradTiles& tiles, int64_t begin, int64_t end,
                 const float* gradients, float* result, int64_t stride) {
  using Filter = Filtering<kSize>;
  constexpr int kPoints = Filter::kPoints;
  const int64_t channels = w.out_channels;
  for (int64_t index = begin; index < end; ++index, result += channels) {
    const Tile tile(tiles, index);
    const float* first =
        gradients + ((tile.image * w.out_height + tile.row) * w.out_width + tile.column) * channels;
    for (int64_t c = 0; c < channels; c += kLanes) {
      Lanes rows[kPoints * kSize];
      for (int j = 0; j < kSize; ++j) {
        Lanes column[kSize];
        for (int i = 0; i < kSize; ++i) {
          const bool inside = tile.row + i < w.out_height && tile.column + j < w.out_width;
          if (inside) {
            column[i] = LanesIn(first + (i * w.out_width + j) * channels + c);
          } else {
            column[i].setZero();
          }
        }
        Filter::OfGradients(column, 1, rows + j, kSize);
      }
      for (int i = 0; i < kPoints; ++i) {
        Lanes points[kPoints];
        Filter::OfGradients(rows + i * kSize, 1, points, 1);
        for (int j = 0; j < kPoints; ++j)
          LanesOut(result + (i * kPoints + j) * stride + c) = points[j];
      }
    }
  }
}

template <int kSize>
void FilterGradientOf(const WinogradFilter& shape, int64_t begin, int64_t end,
                      const float* products, float* result) {
  using Filter = Filtering<kSize>;
  constexpr int kPoints = Filter::kPoints;
  const int64_t matrix = shape.rows * shape.columns;
  for (int64_t at = begin * shape.columns; at < end * shape.columns; at += kLanes) {
    Lanes rows[3][kPoints];
    for (int j = 0; j < kPoints; ++j) {
      for (Lanes(&row)[kPoints] : rows) row[j].setZero();
      for (int i = 0; i < kPoints; ++i) {
        const Lanes value = LanesIn(products + (i * kPoints + j) * matrix + at);
        for (int r = 0; r < 3; ++r) rows[r][j] += static_cast<float>(Filter::kFilter[i][r]) * value;
      }
    }
    for (int r = 0; r < 3; ++r) {
      for (int s = 0; s < 3; ++s) {
        Lanes sum = Lanes::Zero();
        for (int j = 0; j < kPoints; ++j)
          sum += static_cast<float>(Filter::kFilter[j][s]) * rows[r][j];
        LanesOut(result + (r * 3 + s) * matrix + at) = sum;
      }
    }
  }
}

template <int kSize>
void ProductsOf(const Window& w, const WinogradTiles& tiles, int64_t begin, int64_t end,
                const float* products, int64_t stride, const WinogradOutput& to) {
  using Filter = Filtering<kSize>;
  constexpr int kPoints = Filter::kPoints;
  const int64_t channels = w.out_channels;
  for (int64_t index = begin; index < end; ++index, products += channels) {
    const Tile tile(tiles, index);
    const auto height = static_cast<int>(std::min<int64_t>(kSize, w.out_height - tile.row));
    const auto width = static_cast<int>(std::min<int64_t>(kSize, w.out_width - tile.column));
    const int64_t first =
        ((tile.image * w.out_height + tile.row) * w.out_width + tile.column) * channels;
    for (int64_t c = 0; c < channels; c += kLanes) {
      Lanes rows[kSize * kPoints];
      for (int j = 0; j < kPoints; ++j) {
        Lanes column[kPoints];
        for (int i = 0; i < kPoints; ++i)
          column[i] = LanesIn(products + (i * kPoints + j) * stride + c);
        Filter::OfProducts(column, 1, rows + j, kPoints);
      }
      Lanes bias = Lanes::Zero();
      if (to.bias != nullptr) bias = LanesIn(to.bias + c);
      for (int i = 0; i < height; ++i) {
        Lanes outputs[kSize];
        Filter::OfProducts(rows + i * kPoints, 1, outputs, 1);
        for (int j = 0; j < width; ++j) {
          const int64_t at = first + (i * w.out_width + j) * channels + c;
          Lanes y = outputs[j] + bias;
          if (to.residual != nullptr) y += LanesIn(to.residual + at);
          Activate(to.activation, y);
          LanesOut(to.output + at) = y;
        }
      }
    }
  }
}

}  // namespace

void TransformImages(const Window& w, const WinogradTiles& tiles, int64_t begin, int64_t end,
                     const float* images, float* result, int64_t stride) {
  const auto transform = tiles.size == 4 ? ImagesOf<4> : ImagesOf<2>;
  transform(w, tiles, begin, end, images, result, stride);
}

void TransformFilter(int size, const WinogradFilter& shape, int64_t begin, int64_t end,
                     const float* filter, float* result) {
  const auto transform = size == 4 ? FilterOf<4> : FilterOf<2>;
  transform(shape, begin, end, filter, result);
}

void TransformGradients(const Window& w, const WinogradTiles& tiles, int64_t begin, int64_t end,
                        const float* gradients, float* result, int64_t stride) {
  const auto transform = tiles.size == 4 ? GradientsOf<4> : GradientsOf<2>;
  transform(w, tiles, begin, end, gradients, result, stride);
}

void TransformFilterGradient(int size, const WinogradFilter& shape, int64_t begin, int64_t end,
                             const float* products, float* result) {
  const auto transform = size == 4 ? FilterGradientOf<4> : FilterGradientOf<2>;
  transform(shape, begin, end, products, result);
}

void TransformProducts(const Window& w, const WinogradTiles& tiles, int64_t begin, int64_t end,
                       const float* products, int64_t stride, const WinogradOutput& output) {
  const auto transform = tiles.size == 4 ? ProductsOf<4> : ProductsOf<2>;
  transform(w, tiles, begin, end, products, stride, output);
}

}  // namespace cosched::eigen
