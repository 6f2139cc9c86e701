#pragma once
// What a network takes of an image: its largest centred part of the network's proportions, scaled
// to the network's size and normalised. Each value is a weighted mean of the pixels around its
// place: bilinear where the image grows; where it shrinks, over so many pixels as fall on it, so
// that none is left out (as Pillow's BILINEAR). Colours are normalised as those of ImageNet are for
// the networks that were trained on it. Called by classify's stage. Immutable; thread-safe.

#include <vector>

#include "workloads/images/pixels.h"

namespace cosched {

class ImageScaler {
 public:
  // Keeps a reference to `from`. REQUIRES: channels are 3, or 1 for grey; sizes >= 1.
  ImageScaler(const Pixels& from, int height, int width, int channels);

  int Height() const { return static_cast<int>(rows_.size()); }
  // Source pixels that are read for a row, over and over for some.
  int64_t PixelsOfARow() const;
  // Writes rows first to end - 1 of [height, width, channels], whose beginning `image` is. Values
  // depend on no other row.
  void Scale(int first, int end, float* image) const;

 private:
  // Weighted pixels along one side, from `first` on.
  struct Taps {
    int first = 0;
    std::vector<float> weights;
  };
  static std::vector<Taps> TapsAlong(int from, int to, double scale);
  void Normalise(const float* colours, float* to) const;

  const Pixels& from_;
  const int channels_;
  std::vector<Taps> rows_, columns_;
};

}  // namespace cosched
