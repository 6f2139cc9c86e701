// _FusedMatMul of a single row (a dense layer, one image): all weights are read once, so memory is
// the limit, and Eigen's matrix-vector product comes nearer to it than oneDNN's packed blocks (29
// against 17 GB/s on one core of a Zen 4). Weights stay in their plain layout.

#include <algorithm>

#include "engine/kernels/eigen/activation.h"
#include "engine/kernels/eigen/views.h"
#include "engine/kernels/factories.h"
#include "engine/kernels/parameters.h"
#include "engine/kernels/pieces.h"
#include "engine/pool/thread_pools.h"

namespace cosched::eigen {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstWeights = Eigen::Map<const RowMajor, 0, Eigen::OuterStride<>>;

constexpr int64_t kColumnsOfItem = 64;  // Whole cache lines and vectors for each task.
// Where rows are cut between tasks: shorter runs of memory are read at half the speed.
constexpr int64_t kLeastColumns = 512;

class VectorProduct : public Kernel {
 public:
  explicit VectorProduct(const KernelSpec& spec)
      : p_(ReadMatMul(spec.node, spec.inputs[0].shape, spec.inputs[1].shape)),
        activation_(ReadActivation(spec.node)),
        tasks_(Tasks(spec)),
        pieces_(Divide(spec)) {}

  int Pieces() const override { return static_cast<int>(pieces_.parts); }

  void ComputePiece(KernelContext& context, int piece) override {
    const int64_t items = (p_.n + kColumnsOfItem - 1) / kColumnsOfItem;
    const int64_t begin = p_.transpose_b ? pieces_.Begin(piece) : 0;
    const int64_t end = p_.transpose_b ? pieces_.Begin(piece + 1) : items;
    const Division parts{end - begin, std::min<int64_t>(tasks_, end - begin)};
    context.pools.intra().ParallelFor(static_cast<int>(parts.parts), [&](int task) {
      const int64_t first = (begin + parts.Begin(task)) * kColumnsOfItem;
      const int64_t last = (begin + parts.Begin(task + 1)) * kColumnsOfItem;
      Columns(context, piece, first, std::min(last, p_.n) - first);
    });
  }

 private:
  int Tasks(const KernelSpec& spec) const {
    const Work work{0, sizeof(float) * static_cast<double>(p_.k * p_.n)};
    const int most = TasksOf(work.Seconds(spec.rates), spec.Threads());
    return p_.transpose_b ? most
                          : static_cast<int>(std::clamp<int64_t>(p_.n / kLeastColumns, 1, most));
  }

  // Pieces are of what lies together: of columns where the weights are stored [n,k], of rows where
  // [k,n].
  Division Divide(const KernelSpec& spec) const {
    const int64_t of_item = p_.transpose_b ? p_.k * kColumnsOfItem : p_.n;
    const int64_t items = p_.transpose_b ? (p_.n + kColumnsOfItem - 1) / kColumnsOfItem : p_.k;
    const Work item{0, sizeof(float) * static_cast<double>(of_item)};
    return Division::Of(items, item.Seconds(spec.rates), PieceSeconds(spec.piece_time, tasks_));
  }

  void Columns(KernelContext& context, int piece, int64_t begin, int64_t columns) const {
    using Vector = Eigen::Map<const Eigen::VectorXf>;
    Eigen::Map<Eigen::VectorXf> y(Out(context, 0) + begin, columns);
    if (p_.transpose_b) {
      y.noalias() =
          ConstWeights(In(context, 1) + begin * p_.k, columns, p_.k, Eigen::OuterStride<>(p_.k)) *
          Vector(In(context, 0), p_.k);
    } else {
      const int64_t row = pieces_.Begin(piece), rows = pieces_.Size(piece);
      if (piece == 0) y.setZero();
      y.noalias() += ConstWeights(In(context, 1) + row * p_.n + begin, rows, columns,
                                  Eigen::OuterStride<>(p_.n))
                         .transpose() *
                     Vector(In(context, 0) + row, rows);
      if (piece + 1 < pieces_.parts) return;
    }
    y += Vector(In(context, 2) + begin, columns);
    Activate(activation_, Array(y.data(), columns));
  }

  const MatMulParameters p_;
  const Activation activation_;
  const int tasks_;
  const Division pieces_;
};

}  // namespace

std::unique_ptr<Kernel> MakeFusedVectorProduct(const KernelSpec& spec) {
  return std::make_unique<VectorProduct>(spec);
}

}  // namespace cosched::eigen
