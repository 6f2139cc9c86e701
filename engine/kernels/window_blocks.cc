#include "engine/kernels/window_blocks.h"

#include "engine/kernels/pieces.h"

namespace cosched {
namespace {

// Rows of one image that the block's windows cover, and rows of its output.
struct RowRange {
  int64_t top, bottom, first, last;
};

// The image rows that output rows [first, last) read.
RowRange ReadBy(const Window& w, int64_t first, int64_t last) {
  return {std::max<int64_t>(first * w.stride_height - w.pad_top, 0),
          std::min((last - 1) * w.stride_height - w.pad_top + w.Height(), w.height), first, last};
}

// The output rows whose windows touch image rows [top, bottom).
RowRange Touching(const Window& w, int64_t top, int64_t bottom) {
  const int64_t stride = w.stride_height;
  const int64_t first = std::max<int64_t>(top + w.pad_top - w.Height() + stride, 0) / stride;
  return {top, bottom, first, std::min((bottom - 1 + w.pad_top) / stride + 1, w.out_height)};
}

WindowBlock RowBlock(const Window& w, int64_t image, const RowRange& range) {
  WindowBlock block{w, 0, 0};
  block.window.batch = 1;
  block.window.height = range.bottom - range.top;
  block.window.out_height = range.last - range.first;
  // Where the first window begins and the last one ends, beyond the block's image rows.
  block.window.pad_top = range.top + w.pad_top - range.first * w.stride_height;
  block.window.pad_bottom = std::max<int64_t>(
      (range.last - 1) * w.stride_height - w.pad_top + w.Height() - range.bottom, 0);
  block.image_offset = (image * w.height + range.top) * w.width * w.channels;
  block.output_offset = (image * w.out_height + range.first) * w.out_width * w.out_channels;
  return block;
}

}  // namespace

std::vector<WindowBlock> CutWindow(const Window& w, Rows rows, double image_seconds, double seconds,
                                   int tasks) {
  std::vector<WindowBlock> blocks;
  const bool of_output = rows == Rows::kOfOutput;
  const int64_t height = of_output ? w.out_height : w.height;
  // Strips of the image have at least a window's rows: then some window touches every block.
  const Division strips = Division::Of(height, image_seconds / static_cast<double>(height), seconds,
                                       of_output ? 1 : w.Height());
  // A block of rows whose windows lie on padding alone would have no image.
  const bool on_image = w.pad_top < w.Height() && w.pad_bottom < w.Height();
  if (strips.parts > 1 && on_image && (of_output || w.stride_height <= w.Height())) {
    for (int64_t image = 0; image < w.batch; ++image) {
      for (int64_t i = 0; i < strips.parts; ++i) {
        const int64_t begin = strips.Begin(i), end = begin + strips.Size(i);
        blocks.push_back(
            RowBlock(w, image, of_output ? ReadBy(w, begin, end) : Touching(w, begin, end)));
      }
    }
    return blocks;
  }
  const int64_t unit = image_seconds * tasks <= seconds ? tasks : 1;
  const Division images =
      Division::Of((w.batch + unit - 1) / unit, image_seconds * static_cast<double>(unit), seconds);
  for (int64_t i = 0; i < images.parts; ++i) {
    const int64_t begin = images.Begin(i) * unit;
    const int64_t end = std::min(images.Begin(i + 1) * unit, w.batch);
    WindowBlock block{w, begin * (w.ImageElements() / w.batch),
                      begin * (w.OutputElements() / w.batch)};
    block.window.batch = end - begin;
    blocks.push_back(block);
  }
  return blocks;
}

}  // namespace cosched
