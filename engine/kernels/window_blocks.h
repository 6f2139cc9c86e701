#pragma once
// A convolution over a batch as a sequence of smaller ones: of some images each or, where one image
// takes too long, of some rows of one. Rows overlap where windows do; only the outer blocks of an
// image keep its padding. Plain data; called by kernels when they are created.

#include <vector>

#include "engine/kernels/window.h"

namespace cosched {

struct WindowBlock {
  Window window;
  int64_t image_offset = 0, output_offset = 0;  // Where its first elements are.
};

// Whose rows are divided: each belongs to one block, while those of the other side may be read by
// two.
enum class Rows { kOfOutput, kOfImage };

// Blocks of about `seconds` for a window whose images take image_seconds each; where several fit, a
// multiple of `tasks` of them, so that each task has as many. Images stay whole
// where their rows cannot be divided: kOfImage with a stride longer than the window, which leaves
// rows that no window touches, or with windows that lie on padding alone.
std::vector<WindowBlock> CutWindow(const Window& w, Rows rows, double image_seconds, double seconds,
                                   int tasks);

}  // namespace cosched
