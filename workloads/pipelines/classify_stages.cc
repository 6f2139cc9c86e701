#include "workloads/pipelines/classify_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "engine/graph/tensor.h"
#include "engine/pool/thread_pools.h"
#include "workloads/dataset.h"
#include "workloads/images/image_files.h"
#include "workloads/images/image_reader.h"
#include "workloads/images/image_scaler.h"
#include "workloads/images/image_writer.h"

namespace cosched {
namespace {

// What a thread does between two looks whether it should leave: about two milliseconds of work.
constexpr int64_t kPixelsToDecode = 200'000;
constexpr int64_t kPixelsToScale = 1'000'000;

constexpr size_t kMostRanks = 5;

// Between read and decode.
struct EncodedImage {
  ImageSource source;
  std::unique_ptr<ImageReader> reader = {};
};

// Between decode and preprocess.
struct DecodedImage {
  Pixels pixels;
  std::optional<ImageScaler> scaler = {};
  Tensor scaled = {};
  int next = 0;  // Row.
};

template <typename T>
T& OnlyItem(StageCall& call) {
  return call.Batch().items.front().payload.As<T>();
}

bool ReadSource(ClassifyCommon& /*common*/, StageCall& call, int /*piece*/) {
  ImageSource source = std::move(OnlyItem<ImageSource>(call));
  int64_t bytes = 0;  // Those in memory are everybody's.
  if (!source.bytes) {
    source.bytes = std::make_shared<const std::string>(ReadImageFile(source.name));
    bytes = static_cast<int64_t>(source.bytes->size());
  }
  call.Emit(Payload::Of(EncodedImage{std::move(source)}, bytes));
  return false;
}

bool Decode(ClassifyCommon& common, StageCall& call, int piece) {
  auto& from = OnlyItem<EncodedImage>(call);
  if (piece == 0) from.reader = OpenImage(*from.source.bytes, from.source.name);
  if (from.reader->Continue(kPixelsToDecode)) return true;
  ++common.progress->images_decoded;
  Pixels pixels = from.reader->Take();
  const auto bytes = static_cast<int64_t>(pixels.rgb.capacity());
  call.Emit(Payload::Of(DecodedImage{std::move(pixels)}, bytes));
  return false;
}

// Rows first to end - 1, with the helpers that there are.
void ScaleRows(const ImageScaler& scaler, StageCall& call, int first, int end, float* to) {
  if (call.Pools() == nullptr) return scaler.Scale(first, end, to);
  // A pause may have left no thread but this one.
  const int tasks = std::clamp(call.Pools()->ThreadsAtANode(), 1, end - first);
  call.Pools()->intra().ParallelFor(tasks, [&](int task) {
    const auto row = [&](int of) { return first + (end - first) * of / tasks; };
    scaler.Scale(row(task), row(task + 1), to);
  });
}

bool Preprocess(ClassifyCommon& common, StageCall& call, int piece) {
  auto& from = OnlyItem<DecodedImage>(call);
  const auto side = [&](size_t i) { return static_cast<int>(common.image[static_cast<int>(i)]); };
  if (piece == 0) {
    from.scaler.emplace(from.pixels, side(0), side(1), side(2));
    from.scaled = Tensor({1, side(0), side(1), side(2)});
  }
  const int64_t rows = std::max<int64_t>(1, kPixelsToScale / from.scaler->PixelsOfARow());
  const int end = static_cast<int>(std::min<int64_t>(side(0), from.next + rows));
  ScaleRows(*from.scaler, call, std::exchange(from.next, end), end, from.scaled.Floats());
  if (end < side(0)) return true;
  const auto bytes = static_cast<int64_t>(from.scaled.Bytes());
  call.Emit(Payload::Of(std::move(from.scaled), bytes));
  return false;
}

bool Rank(ClassifyCommon& common, StageCall& call, int /*piece*/) {
  const auto& scores = OnlyItem<Tensor>(call);
  const int64_t images = scores.GetShape()[0], classes = scores.GetShape()[1];
  std::vector<RankedClasses> ranked;
  for (int64_t i = 0; i < images; ++i)
    ranked.push_back(RankClasses(scores.Floats() + i * classes, classes));
  common.progress->images_classified += images;
  call.Emit(Payload::Of(std::move(ranked), 0));
  return false;
}

using RunClassifyPiece = bool (*)(ClassifyCommon&, StageCall&, int);

RunClassifyPiece ClassifyPieceOf(ClassifyStage stage) {
  switch (stage) {
    case ClassifyStage::kRead: return ReadSource;
    case ClassifyStage::kDecode: return Decode;
    case ClassifyStage::kPreprocess: return Preprocess;
    case ClassifyStage::kRank: return Rank;
  }
  return nullptr;
}

Pixels ToPixels(const std::vector<float>& values, int height, int width) {
  constexpr float kMiddle = 128, kContrast = 50;
  Pixels pixels{.width = width, .height = height};
  pixels.rgb.reserve(values.size());
  for (const float value : values) {
    pixels.rgb.push_back(
        static_cast<uint8_t>(std::clamp(kMiddle + kContrast * value, 0.0f, 255.0f)));
  }
  return pixels;
}

}  // namespace

StageFactory MakeClassifyStage(ClassifyStage stage, std::shared_ptr<ClassifyCommon> common) {
  return [run = ClassifyPieceOf(stage), common = std::move(common)] {
    return MakeNativeStage(
        [run, common](StageCall& call, int piece) { return run(*common, call, piece); });
  };
}

std::vector<ImageSource> MakeImages(uint64_t seed) {
  constexpr int kImages = 32, kHeight = 375, kWidth = 500, kClasses = 10, kQuality = 90;
  const auto dataset = OpenDataset("procedural", "", {kHeight, kWidth, 3}, kClasses, seed);
  std::vector<ImageSource> sources;
  std::vector<float> values(size_t{3} * kHeight * kWidth);
  for (int i = 0; i < kImages; ++i) {
    dataset->Read(i, values.data());
    const Pixels pixels = ToPixels(values, kHeight, kWidth);
    const bool is_png = i % 4 == 3;
    sources.push_back({fmt::format("procedural {}.{}", i, is_png ? "png" : "jpg"),
                       std::make_shared<const std::string>(is_png ? EncodePng(pixels)
                                                                  : EncodeJpeg(pixels, kQuality))});
  }
  return sources;
}

RankedClasses RankClasses(const float* scores, int64_t classes) {
  std::vector<int> order(static_cast<size_t>(classes));
  std::iota(order.begin(), order.end(), 0);
  const size_t ranks = std::min(kMostRanks, order.size());
  std::ranges::partial_sort(
      order, order.begin() + static_cast<std::ptrdiff_t>(ranks),
      [scores](int a, int b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  RankedClasses ranked;
  if (ranks == 0) return ranked;
  const double most = scores[order[0]];
  double sum = 0;
  for (int64_t i = 0; i < classes; ++i) sum += std::exp(scores[i] - most);
  for (size_t i = 0; i < ranks; ++i) {
    const double share = std::exp(scores[order[i]] - most) / sum;
    ranked.push_back({order[i], static_cast<float>(share)});
  }
  return ranked;
}

}  // namespace cosched
