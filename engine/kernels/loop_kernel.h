#pragma once
// A kernel over many items that do not depend on each other, as one loop: cut into pieces, and each
// piece into parallel blocks. For ops whose items are no images, so that InBatches (batch_pieces.h)
// cannot cut them. Called by factories.

#include <memory>
#include <utility>

#include "engine/kernels/blocks.h"
#include "engine/kernels/kernel.h"

namespace cosched {

// Items, of which each moves so many bytes, as blocks.
inline Blocks BlocksOf(int64_t items, double bytes_each) {
  return Blocks::Of(items, static_cast<int64_t>(bytes_each / sizeof(float)));
}

// body(context, block, begin, end) computes items [begin, end) of [0, items): those of one of the
// BlocksOf the items, whose index may choose scratch memory.
template <typename Body>
std::unique_ptr<Kernel> LoopOver(const KernelSpec& spec, int64_t items, double bytes_each,
                                 Body body) {
  class LoopKernel : public Kernel {
   public:
    LoopKernel(const KernelSpec& spec, int64_t items, double bytes_each, Body body)
        : blocks_(BlocksOf(items, bytes_each)),
          pieces_(Division::Of(
              blocks_.Number(),
              Work{0, bytes_each * static_cast<double>(blocks_.size)}.Seconds(spec.rates),
              PieceSeconds(spec.piece_time, spec.Threads()))),
          body_(std::move(body)) {}

    int Pieces() const override { return static_cast<int>(pieces_.parts); }

    void ComputePiece(KernelContext& context, int piece) override {
      const int64_t first = pieces_.Begin(piece), count = pieces_.Size(piece);
      const auto run = [&](int task) {
        const int64_t block = first + task;
        body_(context, block, block * blocks_.size,
              std::min((block + 1) * blocks_.size, blocks_.count));
      };
      if (count == 1) return run(0);
      context.pools.intra().ParallelFor(static_cast<int>(count), run);
    }

   private:
    const Blocks blocks_;
    const Division pieces_;  // The blocks' division.
    Body body_;
  };
  return std::make_unique<LoopKernel>(spec, items, bytes_each, std::move(body));
}

}  // namespace cosched
