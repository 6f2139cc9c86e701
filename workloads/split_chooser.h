#pragma once
// split = "auto": which inter x intra a program should have on the cores it is granted, found by
// trying candidates on its own steps, in turns, and keeping those that may still be the best. Where
// the graph is a chain nothing but fewer intra-op threads is tried. Of a pipeline, how many requests
// should be open, too. Knows no session and no clock, so that tests can measure for it. Not
// thread-safe. Called by AutoSplit and AutoPipeline.
//
// TensorFlow publishes inter = intra = all cores, Intel inter = sockets and intra = cores of one
// (Wang et al., TACO, arXiv 1908.04705, beat both by a third with inter = the graph's average width
// and intra = cores / inter); all of these are among the candidates, cut at the graph's width.

#include <vector>

#include "engine/base/split.h"

namespace cosched {

// 1, 2, 4, … and `most` itself.
std::vector<int> PowersUpTo(int most);

class SplitChooser {
 public:
  // width: how many nodes could run at once on average (Session::GraphWidth). No candidate exceeds
  // the capacity. most_open: open requests, of a pipeline.
  SplitChooser(double width, Split capacity, int most_open = 1)
      : width_(width), capacity_(capacity), most_open_(most_open) {}

  // The split of the next step on so many cores, at least one. Another number of cores than the
  // last time begins the search anew.
  Split Next(int cores);
  // The open requests that go with it. REQUIRES: Next was called.
  int Open() const { return candidates_[current_].open; }
  // How long the step took that was run with it. Steps that were disturbed (a resize by somebody
  // else) are left out by the caller.
  void Note(double seconds);
  bool Settled() const { return candidates_.size() == 1; }
  Split Chosen() const { return candidates_.front().split; }  // REQUIRES: Settled().

 private:
  struct Candidate {
    Split split;
    int open = 1;
    std::vector<double> visits = {};  // Mean step of each.
    double Best() const;
  };

  void Restart(int cores);
  void EndVisit();
  void EndRound();

  const double width_;
  const Split capacity_;
  const int most_open_;
  int cores_ = 0;
  std::vector<Candidate> candidates_;  // Those left; the one in front of equals is kept.
  size_t current_ = 0;
  int round_ = 0;
  // The visit: steps of one candidate in a row.
  bool arrived_ = false;
  int steps_ = 0;
  double seconds_ = 0;
};

}  // namespace cosched
