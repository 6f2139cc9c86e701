// Winograd's filtering: which convolutions are computed so, how they are divided, and that the
// transforms give what the sum over the window gives.

#include "engine/kernels/winograd.h"

#include "engine/kernels/eigen/levels.h"
#include "tests/engine/kernels/kernel_fixture.h"

namespace cosched::testing {
namespace {

using std::chrono::microseconds;

// 3x3, SAME, stride 1.
Window Layer(int64_t batch, int64_t side, int64_t channels, int64_t filters) {
  Window w = SquareLayer(side, channels);
  w.batch = batch;
  w.out_channels = filters;
  return w;
}

double DirectSeconds(const Window& w, const KernelRates& rates) {
  const auto sums = static_cast<double>(w.OutputElements() * 9 * w.channels);
  return Work{2 * sums / static_cast<double>(w.groups), 0}.Seconds(rates);
}

int Choice(const Window& w, WinogradUse use = WinogradUse::kConstantFilter,
           const KernelRates& rates = {}) {
  return ChooseWinograd(w, DirectSeconds(w, rates), {.use = use, .threads = 2, .rates = rates});
}

TEST(ChooseWinograd, TakesLargeTilesWhereTheFilterIsSmallBesideTheImages) {
  EXPECT_EQ(Choice(Layer(1, 224, 64, 64)), 4);
  EXPECT_EQ(Choice(Layer(1, 56, 64, 192)), 4);
  EXPECT_EQ(Choice(Layer(1, 28, 512, 512)), 4);
  EXPECT_EQ(Choice(Layer(1, 7, 512, 512)), 0);
}

TEST(ChooseWinograd, LeavesOtherConvolutions) {
  const Window fits = Layer(1, 56, 64, 64);
  ASSERT_NE(Choice(fits), 0);
  for (auto change : std::initializer_list<void (*)(Window*)>{
           [](Window* w) { w->rows = 5; }, [](Window* w) { w->columns = 1; },
           [](Window* w) { w->stride_height = 2; }, [](Window* w) { w->stride_width = 2; },
           [](Window* w) { w->dilation_width = 2; }, [](Window* w) { w->groups = 2; },
           [](Window* w) { w->channels = 72; }, [](Window* w) { w->out_channels = 72; }}) {
    Window other = fits;
    change(&other);
    EXPECT_EQ(Choice(other), 0);
  }
}

TEST(ChooseWinograd, GoesByTheRatesOfTheMachine) {
  const Window layer = Layer(1, 28, 128, 128);
  const auto with = [&](auto change) {
    KernelRates rates;
    change(&rates);
    return Choice(layer, WinogradUse::kConstantFilter, rates);
  };
  EXPECT_EQ(with([](KernelRates*) {}), 4);
  EXPECT_EQ(with([](KernelRates* rates) { rates->transform_4_seconds *= 10; }), 2);
  EXPECT_EQ(with([](KernelRates* rates) {
              rates->transform_2_seconds *= 20;
              rates->transform_4_seconds *= 10;
            }),
            0);
  EXPECT_EQ(with([](KernelRates* rates) { rates->product_flops /= 4; }), 0);
  EXPECT_EQ(with([](KernelRates* rates) { rates->window_flops *= 4; }), 0);
  EXPECT_EQ(with([](KernelRates* rates) { rates->filter_bytes /= 1000; }), 0);
}

TEST(ChooseWinograd, AFilterThatIsNewInEachStepWantsMoreImages) {
  EXPECT_NE(Choice(Layer(1, 8, 256, 256)), 0);
  for (WinogradUse use : {WinogradUse::kNewFilter, WinogradUse::kFilterGradient}) {
    EXPECT_EQ(Choice(Layer(1, 8, 256, 256), use), 0);
    EXPECT_NE(Choice(Layer(16, 14, 256, 256), use), 0);
    // The cases of that name in op_cases.h.
    EXPECT_NE(Choice(Layer(4, 16, 64, 80), use), 0);
    EXPECT_NE(Choice(Layer(4, 16, 80, 64), use), 0);
  }
}

TEST(DivideWinograd, PiecesHaveAboutTheirTimeAndCoverAll) {
  const Window w = Layer(2, 56, 256, 256);
  const WinogradTiles tiles(w, 4);
  EXPECT_EQ(tiles.tiles, 2 * 14 * 14);
  for (WinogradUse use :
       {WinogradUse::kConstantFilter, WinogradUse::kNewFilter, WinogradUse::kFilterGradient}) {
    const auto divide = [&](int threads, microseconds piece_time) {
      const WinogradDivision division = DivideWinograd(w, tiles, {use, threads, piece_time});
      EXPECT_EQ(division.blocks.count, tiles.tiles);
      EXPECT_EQ(division.pieces.count, division.blocks.parts);
      return division;
    };
    const WinogradDivision whole = divide(2, microseconds(0));
    EXPECT_EQ(whole.Pieces(), 1);
    EXPECT_GT(whole.blocks.parts, 1);
    EXPECT_GT(divide(2, kPieceTime).Pieces(), 1);
    EXPECT_GE(divide(2, kPieceTime / 4).Pieces(), divide(2, kPieceTime).Pieces());
    EXPECT_EQ(divide(4, kPieceTime).Pieces(), divide(1, kPieceTime).Pieces());
    EXPECT_LT(divide(64, kPieceTime).Pieces(), divide(1, kPieceTime).Pieces());
  }
}

// However many threads there may be: what it costs one of them that others could come.
TEST(DivideWinograd, ABlockIsOneCoresCacheful) {
  const Window w = Layer(8, 56, 256, 256);
  const WinogradTiles tiles(w, 4);
  for (const WinogradUse use : {WinogradUse::kConstantFilter, WinogradUse::kFilterGradient}) {
    for (const microseconds piece_time : {microseconds(0), kPieceTime}) {
      const auto blocks = [&](int threads) {
        return DivideWinograd(w, tiles, {.use = use, .threads = threads, .piece_time = piece_time})
            .blocks.parts;
      };
      EXPECT_GT(blocks(1), 1);
      for (const int threads : {2, 8, 1024}) EXPECT_EQ(blocks(threads), blocks(1));
    }
  }
}

TEST(DivideWinograd, ThreadsShareABlockWhereThereIsNoneForEach) {
  const Window w = Layer(8, 56, 64, 64);
  const WinogradTiles tiles(w, 4);
  const auto divide = [&](int threads) {
    return DivideWinograd(w, tiles, {.threads = threads, .piece_time = microseconds(0)});
  };
  const auto blocks = static_cast<int>(divide(1).blocks.parts);
  ASSERT_GT(blocks, 2);
  EXPECT_EQ(divide(1).tasks, 1);
  EXPECT_EQ(divide(blocks).tasks, 1);
  EXPECT_GT(divide(blocks - 1).tasks, 2) << "the last block, by all";
  EXPECT_EQ(divide(2 * blocks).tasks, 2);
}

TEST(DivideWinograd, LongBlocksAreSharedByAll) {
  const Window w = Layer(4, 28, 1024, 1024);
  const WinogradTiles tiles(w, 4);
  const WinogradDivision division = DivideWinograd(w, tiles, {.threads = 64});
  EXPECT_EQ(division.pieces.parts, division.blocks.parts);
  EXPECT_EQ(division.tasks, 64);
}

TEST(DivideWinograd, ASmallImageIsOneBlock) {
  const Window w = Layer(1, 7, 512, 512);
  const WinogradTiles tiles(w, 4);
  EXPECT_EQ(DivideWinograd(w, tiles, {.threads = 8, .piece_time = microseconds(1)}).blocks.parts,
            1);
}

// By the transforms of a level.
void ExpectTheSumOverTheWindow(const eigen::KernelLevel& level, int size) {
  Window w = Layer(2, 0, 16, 32);
  w.height = 9, w.width = 7, w.out_height = 10, w.out_width = 5;
  w.pad_top = 2, w.pad_bottom = 1, w.pad_left = w.pad_right = 0;
  const Tensor images = RandomTensor({2, 9, 7, 16}, 1), filter = RandomTensor({3, 3, 16, 32}, 2),
               bias = RandomTensor({32}, 3);
  const WinogradTiles tiles(w, size);
  const int64_t points = tiles.Points();
  Tensor left({points, tiles.tiles, 16}), right({points, 16, 32}),
      product({points, tiles.tiles, 32});
  level.TransformImages(w, tiles, 0, tiles.tiles, images.Floats(), left.Floats(), tiles.tiles * 16);
  level.TransformFilter(size, {16, 32, false}, 0, 16, filter.Floats(), right.Floats());
  for (int64_t at = 0; at < product.Elements(); ++at) {
    const int64_t k = at % 32, row = at / 32, point = row / tiles.tiles;
    double sum = 0;
    for (int64_t c = 0; c < 16; ++c)
      sum += static_cast<double>(left.Floats()[row * 16 + c]) *
             static_cast<double>(right.Floats()[(point * 16 + c) * 32 + k]);
    product.Floats()[at] = static_cast<float>(sum);
  }
  Tensor output({2, 10, 5, 32});
  level.TransformProducts(w, tiles, 0, tiles.tiles, product.Floats(), tiles.tiles * 32,
                          {output.Floats(), bias.Floats()});
  Tensor expected({2, 10, 5, 32});
  for (int64_t at = 0; at < expected.Elements(); ++at) {
    const int64_t k = at % 32, q = at / 32 % 5, p = at / 160 % 10, n = at / 1600;
    double sum = static_cast<double>(bias.Floats()[k]);
    for (int64_t i = 0; i < 9 * 16; ++i) {
      const int64_t y = p - 2 + i / 48, x = q + i / 16 % 3;
      if (y < 0 || y >= 9 || x >= 7) continue;
      sum += static_cast<double>(images.Floats()[((n * 9 + y) * 7 + x) * 16 + i % 16]) *
             static_cast<double>(filter.Floats()[i * 32 + k]);
    }
    expected.Floats()[at] = static_cast<float>(sum);
  }
  ExpectClose(expected, output, size == 4 ? 5e-6f : 1e-6f);
}

TEST(WinogradTransforms, GiveTheSumOverTheWindowAtEveryLevel) {
  for (const eigen::KernelLevel* level : eigen::LevelsHere()) {
    for (int size : {2, 4}) {
      SCOPED_TRACE(::testing::Message() << level->name << ", tiles of " << size);
      ExpectTheSumOverTheWindow(*level, size);
    }
  }
}

}  // namespace
}  // namespace cosched::testing
