#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/base/portable_math.h"
#include "traces/generators/generated_clock.h"
#include "traces/generators/variates.h"

namespace cosched {
namespace {

constexpr int kPiecesOfSine = 64;

// A stretch of the rate, from its begin to the next one's, below a bound.
struct Piece {
  double begin_s = 0;
  double at_begin = 0;  // Arrivals/s.
  double slope = 0;     // Arrivals/s of each second.
  double bound = 0;
};

std::vector<Piece> PiecesOfSine(const RateFunction& rate) {
  std::vector<Piece> pieces;
  // An arc rises above its higher end by at most 1 - cos(pi / 64) = 0.0012 of the amplitude.
  const double margin = rate.amplitude_per_s * 0.0015;
  for (int i = 0; i < kPiecesOfSine; ++i) {
    const auto at = [&rate](double turns) {
      return rate.mean_per_s + rate.amplitude_per_s * PortableSineOfTurns(turns + 0.25);
    };
    const double begin_s = rate.period_s * i / kPiecesOfSine;
    const double turns = static_cast<double>(i) / kPiecesOfSine - rate.peak_s / rate.period_s;
    const double highest = std::max(at(turns), at(turns + 1.0 / kPiecesOfSine));
    pieces.push_back({begin_s, 0, 0, highest + margin});
  }
  return pieces;
}

std::vector<Piece> PiecesOf(const RateFunction& rate) {
  if (rate.shape == RateFunction::Shape::kSine) return PiecesOfSine(rate);
  std::vector<Piece> pieces;
  const auto& points = rate.points;
  for (size_t i = 0; i < points.size(); ++i) {
    const bool last = i + 1 == points.size();
    const double end_s = last ? rate.period_s : points[i + 1].at_s;
    const double next = points[last ? 0 : i + 1].rate_per_s;
    Piece piece{points[i].at_s, points[i].rate_per_s, 0, points[i].rate_per_s};
    if (rate.shape == RateFunction::Shape::kLinear && end_s > piece.begin_s) {
      piece.slope = (next - piece.at_begin) / (end_s - piece.begin_s);
      piece.bound = std::max(piece.at_begin, next);
    }
    pieces.push_back(piece);
  }
  return pieces;
}

// Candidates at the bound of a piece, each kept with the probability rate / bound. A candidate
// beyond the piece's end is drawn anew in the next piece: exponential gaps have no memory.
class Diurnal final : public ArrivalProcess {
 public:
  Diurnal(const DiurnalSpec& spec, const Random& random)
      : rate_(spec.rate), pieces_(PiecesOf(spec.rate)), random_(random) {}

  bool Next(ProcessArrival* arrival) override {
    while (true) {
      const Piece& piece = pieces_[piece_];
      const bool ends = piece_ + 1 == pieces_.size();
      const double end_s = ends ? rate_.period_s : pieces_[piece_ + 1].begin_s;
      const double gap_s =
          piece.bound > 0 ? StandardExponential(random_) / piece.bound : end_s - now_s_;
      if (piece.bound <= 0 || now_s_ + gap_s >= end_s) {
        if (!clock_.Advance(std::max(0.0, end_s - now_s_) * kNanosecondsPerSecond)) return false;
        piece_ = ends ? 0 : piece_ + 1;
        now_s_ = ends ? 0 : end_s;
        continue;
      }
      now_s_ += gap_s;
      if (!clock_.Advance(gap_s * kNanosecondsPerSecond)) return false;
      const double kept = RateAt(piece, now_s_);
      if (kept < piece.bound && random_.Uniform() * piece.bound >= kept) continue;
      arrival->time = clock_.Now();
      return true;
    }
  }

 private:
  double RateAt(const Piece& piece, double now_s) const {
    if (rate_.shape != RateFunction::Shape::kSine)
      return piece.at_begin + piece.slope * (now_s - piece.begin_s);
    const double turns = (now_s - rate_.peak_s) / rate_.period_s;
    return rate_.mean_per_s + rate_.amplitude_per_s * PortableSineOfTurns(turns + 0.25);
  }

  RateFunction rate_;
  std::vector<Piece> pieces_;
  Random random_;
  GeneratedClock clock_;
  size_t piece_ = 0;
  double now_s_ = 0;  // In this period.
};

}  // namespace

std::unique_ptr<ArrivalProcess> MakeDiurnal(const DiurnalSpec& spec, const Random& random) {
  CHECK(spec.rate.period_s > 0);
  CHECK(spec.rate.shape == RateFunction::Shape::kSine || !spec.rate.points.empty());
  return std::make_unique<Diurnal>(spec, random.Derive("thinning"));
}

}  // namespace cosched
