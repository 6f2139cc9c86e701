#include "engine/kernels/batch_pieces.h"

#include <algorithm>

#include "engine/pool/thread_pools.h"

namespace cosched {
namespace {

// Elements of one item where items are elements: whole pages of each tensor.
constexpr int64_t kElementsOfItem = 4096;

// A tensor of the op: `per_item` elements belong to each item, or 0 if it is whole for all.
struct Operand {
  OutputInfo info;
  int64_t per_item = 0;

  // What a piece of so many elements or first-dimension rows gets.
  OutputInfo Part(const ItemRule& rule, int64_t size) const {
    if (per_item == 0) return info;
    if (rule.items == ItemRule::Items::kElements) return {Shape{size}, info.type};
    std::vector<int64_t> sizes = info.shape.Sizes();
    sizes[0] = size;
    return {Shape(sizes), info.type};
  }
};

struct Operands {
  std::vector<Operand> inputs, outputs;
  int64_t rows = 0;  // Elements, or the first dimension.
  double bytes = 0;  // The size of tensors that are cut.
};

// No rows if the shapes do not allow to cut.
Operands Read(const KernelSpec& spec, const ItemRule& rule) {
  Operands all;
  const OutputInfo& first = spec.node.outputs[0];
  const bool by_elements = rule.items == ItemRule::Items::kElements;
  if (!by_elements && first.shape.Rank() == 0) return {};
  all.rows = by_elements ? first.shape.Elements() : first.shape[0];
  bool fits = true;
  const auto read = [&](const OutputInfo& info, bool is_cut) {
    if (by_elements) {
      is_cut = info.shape.Elements() == all.rows;
      fits = fits && (is_cut || info.shape.Rank() == 0);
    }
    if (!is_cut) return Operand{info, 0};
    if (!by_elements && (info.shape.Rank() == 0 || info.shape[0] != all.rows)) {
      fits = false;
      return Operand{info, 0};
    }
    all.bytes +=
        static_cast<double>(info.shape.Elements()) * static_cast<double>(SizeOf(info.type));
    return Operand{info, info.shape.Elements() / all.rows};
  };
  for (size_t i = 0; i < spec.inputs.size(); ++i)
    all.inputs.push_back(read(spec.inputs[i], (rule.inputs >> i & 1) != 0));
  for (size_t i = 0; i < spec.node.outputs.size(); ++i)
    all.outputs.push_back(read(spec.node.outputs[i], (rule.outputs >> i & 1) != 0));
  if (!fits) all.rows = 0;
  return all;
}

class BatchPieces : public Kernel {
 public:
  BatchPieces(const KernelSpec& spec, const ItemRule& rule, KernelMaker* make, Operands operands,
              const Division& items, int64_t rows_of_item)
      : operands_(std::move(operands)) {
    for (int64_t piece = 0; piece < items.parts; ++piece) {
      const int64_t begin = items.Begin(piece) * rows_of_item;
      const int64_t end = std::min(items.Begin(piece + 1) * rows_of_item, operands_.rows);
      pieces_.push_back({begin, PartOf(spec, rule, make, end - begin)});
    }
  }

  int Pieces() const override { return static_cast<int>(pieces_.size()); }

  void ComputePiece(KernelContext& context, int index) override {
    const Piece& piece = pieces_[static_cast<size_t>(index)];
    Part& part = *parts_[piece.part];
    for (size_t i = 0; i < part.inputs.size(); ++i) {
      const int64_t per_row = operands_.inputs[i].per_item;
      if (per_row == 0) {
        part.pointers[i] = context.inputs[i];
        continue;
      }
      part.inputs[i].ViewInto(*context.inputs[i], piece.begin * per_row);
      part.pointers[i] = &part.inputs[i];
    }
    for (size_t i = 0; i < part.outputs.size(); ++i)
      part.outputs[i].ViewInto(context.outputs[i], piece.begin * operands_.outputs[i].per_item);
    KernelContext inner{part.pointers, part.outputs, context.pools};
    part.kernel->Compute(inner);
  }

 private:
  // The op on so many rows.
  struct Part {
    int64_t rows;
    Node node;
    std::vector<Tensor> inputs, outputs;  // Views.
    std::vector<const Tensor*> pointers;
    std::unique_ptr<Kernel> kernel;
  };
  struct Piece {
    int64_t begin;
    size_t part;
  };

  size_t PartOf(const KernelSpec& spec, const ItemRule& rule, KernelMaker* make, int64_t rows) {
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i]->rows == rows) return i;
    }
    auto part = std::make_unique<Part>(Part{rows, spec.node, {}, {}, {}, nullptr});
    std::vector<OutputInfo> infos;
    for (const Operand& input : operands_.inputs) {
      infos.push_back(input.Part(rule, rows));
      part->inputs.push_back(Tensor::View(infos.back().shape, infos.back().type));
      part->pointers.push_back(nullptr);
    }
    for (size_t i = 0; i < operands_.outputs.size(); ++i) {
      part->node.outputs[i] = operands_.outputs[i].Part(rule, rows);
      part->outputs.push_back(
          Tensor::View(part->node.outputs[i].shape, part->node.outputs[i].type));
    }
    part->kernel = make(
        {part->node, infos, spec.pools, spec.piece_time, spec.rates, {}, nullptr, spec.threads});
    parts_.push_back(std::move(part));
    return parts_.size() - 1;
  }

  const Operands operands_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<Piece> pieces_;
};

}  // namespace

std::unique_ptr<Kernel> InBatches(const KernelSpec& spec, const ItemRule& rule, KernelMaker* make) {
  if (rule.items == ItemRule::Items::kNone) return make(spec);
  Operands operands = Read(spec, rule);
  if (operands.rows == 0) return make(spec);
  const int64_t rows_of_item = rule.items == ItemRule::Items::kElements ? kElementsOfItem : 1;
  const int64_t items = (operands.rows + rows_of_item - 1) / rows_of_item;
  const double seconds = Work{0, operands.bytes * rule.slowness}.Seconds(spec.rates);
  const Division division = Division::Of(items, seconds / static_cast<double>(items),
                                         PieceSeconds(spec.piece_time, spec.Threads()));
  if (division.parts == 1) return make(spec);
  return std::make_unique<BatchPieces>(spec, rule, make, std::move(operands), division,
                                       rows_of_item);
}

}  // namespace cosched
