// FusedBatchNormV3 in training and its gradient, for batches of many rows, which oneDNN's sum up
// less accurately, or on which those, which cannot be divided as their statistics are of the whole
// batch, would take longer than a piece. Both are two passes over the images: one collects sums by
// channel, for each chunk of rows apart, and the other applies what follows from them. Chunks
// depend on shapes only and are added in order, in double precision.

#include <algorithm>

#include "engine/kernels/blocks.h"
#include "engine/kernels/eigen/views.h"
#include "engine/kernels/factories.h"
#include "engine/kernels/parameters.h"

namespace cosched::eigen {
namespace {

constexpr int64_t kWide = 256;  // Floats that are worked on at a time, at least: whole rows.

// All values of the channels, repeated over `wide`.
template <typename Channels>
void Repeat(const Channels& channels, Eigen::ArrayXf* wide) {
  for (int64_t at = 0; at < wide->size(); at += channels.size())
    wide->segment(at, channels.size()) = channels;
}

// Sums over the rows in `wide`, by channel.
template <typename Sums>
void Fold(const Eigen::ArrayXf& wide, Sums sums) {
  sums.setZero();
  for (int64_t at = 0; at < wide.size(); at += sums.size()) sums += wide.segment(at, sums.size());
}

class TwoPasses : public Kernel {
 public:
  int Pieces() const override { return IsShort() ? 1 : Parts(); }

  void ComputePiece(KernelContext& context, int piece) override {
    ComputePart(context, piece);
    if (IsShort()) ComputePart(context, 1);
  }

 protected:
  // Tensors that each pass reads or writes, and how many wide arrays a task of the first needs.
  TwoPasses(const KernelSpec& spec, const Matrix& matrix, int collected, int applied, int arrays)
      : channels_(matrix.channels),
        rows_(matrix.rows),
        elements_(matrix.rows * matrix.channels),
        width_((kWide + channels_ - 1) / channels_ * channels_),
        blocks_(Blocks::Of((elements_ + width_ - 1) / width_, width_)),
        collect_(PassOf(spec, collected)),
        apply_(PassOf(spec, applied)),
        partial_(2 * channels_, blocks_.Number()),
        wide_(static_cast<size_t>(collect_.Size(0) * arrays), Eigen::ArrayXf(width_)) {}

  virtual void Begin(KernelContext& context) = 0;
  // Elements [begin, end), into partial_.col(chunk).
  virtual void Collect(KernelContext& context, int task, int64_t chunk, int64_t begin,
                       int64_t end) = 0;
  virtual void Finish(KernelContext& context) = 0;
  virtual void Apply(KernelContext& context, int64_t begin, int64_t end) = 0;

  // body(at, length) for each width of [begin, end).
  template <typename Body>
  void ForEachWide(int64_t begin, int64_t end, Body body) const {
    for (int64_t at = begin; at < end; at += width_) body(at, std::min(width_, end - at));
  }
  ConstArray OfChannels(const KernelContext& context, size_t input) const {
    return {In(context, input), channels_};
  }

  const int64_t channels_, rows_, elements_;
  const int64_t width_;
  const Blocks blocks_;             // Chunks, in widths.
  const Division collect_, apply_;  // The chunks of each piece.
  Eigen::ArrayXXf partial_;         // Two sums for each channel, a column for each chunk.
  std::vector<Eigen::ArrayXf> wide_;

 private:
  bool IsShort() const { return collect_.parts == 1 && apply_.parts == 1; }
  int Parts() const { return static_cast<int>(collect_.parts + apply_.parts); }

  void ComputePart(KernelContext& context, int piece) {
    const bool collects = piece < collect_.parts;
    const Division& chunks = collects ? collect_ : apply_;
    // The second pass begins where the first has ended, with what is still in the cache.
    const int64_t part = collects ? piece : Parts() - 1 - piece;
    if (piece == 0) Begin(context);
    context.pools.intra().ParallelFor(static_cast<int>(chunks.Size(part)), [&](int task) {
      const int64_t chunk = chunks.Begin(part) + task;
      const int64_t begin = chunk * blocks_.size * width_;
      const int64_t end = std::min(begin + blocks_.size * width_, elements_);
      collects ? Collect(context, task, chunk, begin, end) : Apply(context, begin, end);
    });
    if (piece == collect_.parts - 1) Finish(context);
  }

  Division PassOf(const KernelSpec& spec, int tensors) const {
    const double bytes = static_cast<double>(blocks_.size * width_ * tensors) *
                         static_cast<double>(SizeOf(spec.inputs[0].type));
    return Division::Of(blocks_.Number(), Work{0, bytes}.Seconds(spec.rates),
                        PieceSeconds(spec.piece_time, spec.Threads()));
  }
};

template <typename T>
class BatchNorm : public TwoPasses {
 public:
  explicit BatchNorm(const KernelSpec& spec)
      : TwoPasses(spec, AsMatrix(spec.inputs[0].shape), 1, 2, 2),
        epsilon_(GetAttribute<float>(spec.node, "epsilon")),
        mean_(width_),
        factor_(width_),
        offset_(width_) {}

 private:
  void Begin(KernelContext&) override {}

  // The chunk's mean, and the squares of distances from it, while it is in the cache.
  void Collect(KernelContext& context, int task, int64_t chunk, int64_t begin,
               int64_t end) override {
    const T* x = In<T>(context, 0);
    Eigen::ArrayXf& sum = wide_[static_cast<size_t>(2 * task)];
    Eigen::ArrayXf& mean = wide_[static_cast<size_t>(2 * task + 1)];
    auto partial = partial_.col(chunk);
    sum.setZero();
    ForEachWide(begin, end,
                [&](int64_t at, int64_t length) { sum.head(length) += Load(x + at, length); });
    Fold(sum, partial.head(channels_));
    partial.head(channels_) /= static_cast<float>((end - begin) / channels_);
    Repeat(partial.head(channels_), &mean);
    sum.setZero();
    ForEachWide(begin, end, [&](int64_t at, int64_t length) {
      sum.head(length) += (Load(x + at, length) - mean.head(length)).square();
    });
    Fold(sum, partial.tail(channels_));
  }

  // Chunks joined as by Chan, Golub and LeVeque.
  void Finish(KernelContext& context) override {
    Eigen::ArrayXd mean = Eigen::ArrayXd::Zero(channels_), squares = mean;
    const double rows_of_chunk = static_cast<double>(blocks_.size * width_ / channels_);
    const auto rows = [&](int64_t chunk) {
      return std::min(rows_of_chunk,
                      static_cast<double>(rows_) - rows_of_chunk * static_cast<double>(chunk));
    };
    for (int64_t i = 0; i < partial_.cols(); ++i)
      mean += partial_.col(i).head(channels_).cast<double>() * rows(i);
    mean /= static_cast<double>(rows_);
    for (int64_t i = 0; i < partial_.cols(); ++i) {
      squares += partial_.col(i).tail(channels_).cast<double>() +
                 (partial_.col(i).head(channels_).cast<double>() - mean).square() * rows(i);
    }
    Array batch_mean(Out(context, 1), channels_), variance(Out(context, 2), channels_);
    batch_mean = mean.cast<float>();
    variance = (squares / static_cast<double>(rows_)).cast<float>();
    Repeat(batch_mean, &mean_);
    Repeat((OfChannels(context, 1) * (variance + epsilon_).rsqrt()).eval(), &factor_);
    Repeat(OfChannels(context, 2), &offset_);
  }

  void Apply(KernelContext& context, int64_t begin, int64_t end) override {
    ForEachWide(begin, end, [&](int64_t at, int64_t length) {
      Store((Load(In<T>(context, 0) + at, length) - mean_.head(length)) * factor_.head(length) +
                offset_.head(length),
            Out<T>(context, 0) + at);
    });
  }

  const float epsilon_;
  Eigen::ArrayXf mean_, factor_, offset_;  // Wide.
};

template <typename T>
class BatchNormGrad : public TwoPasses {
 public:
  explicit BatchNormGrad(const KernelSpec& spec)
      : TwoPasses(spec, AsMatrix(spec.inputs[0].shape), 2, 3, 2),
        epsilon_(GetAttribute<float>(spec.node, "epsilon")),
        mean_(width_),
        of_dy_(width_),
        of_x_(width_),
        constant_(width_) {}

 private:
  void Begin(KernelContext& context) override { Repeat(OfChannels(context, 3), &mean_); }

  // Sums of dy, and of dy times the distance from the mean.
  void Collect(KernelContext& context, int task, int64_t chunk, int64_t begin,
               int64_t end) override {
    const T *dy = In<T>(context, 0), *x = In<T>(context, 1);
    Eigen::ArrayXf& sum = wide_[static_cast<size_t>(2 * task)];
    Eigen::ArrayXf& product = wide_[static_cast<size_t>(2 * task + 1)];
    sum.setZero();
    product.setZero();
    ForEachWide(begin, end, [&](int64_t at, int64_t length) {
      const auto dy_here = Load(dy + at, length);
      sum.head(length) += dy_here;
      product.head(length) += dy_here * (Load(x + at, length) - mean_.head(length));
    });
    Fold(sum, partial_.col(chunk).head(channels_));
    Fold(product, partial_.col(chunk).tail(channels_));
  }

  void Finish(KernelContext& context) override {
    Eigen::ArrayXd sums = Eigen::ArrayXd::Zero(2 * channels_);
    for (int64_t i = 0; i < partial_.cols(); ++i) sums += partial_.col(i).cast<double>();
    const Eigen::ArrayXf inverse = (OfChannels(context, 4) + epsilon_).rsqrt();
    const Eigen::ArrayXf factor = OfChannels(context, 2) * inverse;
    const auto rows = static_cast<float>(rows_);
    Array d_scale(Out(context, 1), channels_), d_offset(Out(context, 2), channels_);
    d_offset = sums.head(channels_).cast<float>();
    d_scale = sums.tail(channels_).cast<float>() * inverse;
    Repeat(factor, &of_dy_);
    Repeat((factor * inverse * d_scale / rows).eval(), &of_x_);
    Repeat((factor * d_offset / rows).eval(), &constant_);
  }

  void Apply(KernelContext& context, int64_t begin, int64_t end) override {
    ForEachWide(begin, end, [&](int64_t at, int64_t length) {
      Store(of_dy_.head(length) * Load(In<T>(context, 0) + at, length) -
                of_x_.head(length) * (Load(In<T>(context, 1) + at, length) - mean_.head(length)) -
                constant_.head(length),
            Out<T>(context, 0) + at);
    });
  }

  const float epsilon_;
  Eigen::ArrayXf mean_, of_dy_, of_x_, constant_;  // Wide.
};

}  // namespace

std::unique_ptr<Kernel> MakeBatchNormChunks(const KernelSpec& spec) {
  return ForImages(spec.inputs[0], [&](auto element) -> std::unique_ptr<Kernel> {
    return std::make_unique<BatchNorm<decltype(element)>>(spec);
  });
}

std::unique_ptr<Kernel> MakeBatchNormGradChunks(const KernelSpec& spec) {
  return ForImages(spec.inputs[0], [&](auto element) -> std::unique_ptr<Kernel> {
    return std::make_unique<BatchNormGrad<decltype(element)>>(spec);
  });
}

}  // namespace cosched::eigen
