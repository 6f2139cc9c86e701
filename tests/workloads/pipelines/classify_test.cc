// classify as a pipeline: against its steps done one after the other by hand with the uncut network,
// and what becomes of a request with a broken image.

#include "workloads/pipelines/classify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <stop_token>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/gates/pipeline.h"
#include "engine/graph/tensor.h"
#include "tests/workloads/pipelines/started_pipeline.h"
#include "tests/workloads/temporary_folder.h"
#include "workloads/images/image_files.h"
#include "workloads/images/image_reader.h"
#include "workloads/images/image_scaler.h"
#include "workloads/images/image_writer.h"
#include "workloads/model.h"
#include "workloads/pipelines/classify_stages.h"
#include "workloads/program.h"

namespace cosched {
namespace {

using Status = PipelineAnswer::Status;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Without its last stage it answers with scores.
PipelineProgram WithoutRanks(const ClassifySettings& settings) {
  PipelineProgram program = MakeClassify(settings).program;
  program.spec.stages.pop_back();
  program.stages.pop_back();
  return program;
}

std::vector<std::vector<float>> ScoresOf(const PipelineResult& result) {
  std::vector<std::vector<float>> scores;
  for (const Payload& payload : result.answer.payloads) {
    const auto& tensor = payload.As<Tensor>();
    const int64_t images = tensor.GetShape()[0], classes = tensor.GetShape()[1];
    for (int64_t i = 0; i < images; ++i)
      scores.emplace_back(tensor.Floats() + i * classes, tensor.Floats() + (i + 1) * classes);
  }
  return scores;
}

std::vector<int> Indices(const RankedClasses& classes) {
  std::vector<int> indices;
  for (const RankedClass& one : classes) indices.push_back(one.index);
  return indices;
}

class ClassifyTest : public ::testing::Test {
 protected:
  // Images of both formats and of several sizes, none like another.
  ClassifyTest() {
    Random random(5);
    for (int i = 0; i < 7; ++i) {
      Pixels pixels{.width = 40 + 23 * i, .height = 90 - 11 * i};
      const double across = random.Uniform(0.02, 0.3), down = random.Uniform(0.02, 0.3);
      for (int y = 0; y < pixels.height; ++y) {
        for (int x = 0; x < pixels.width; ++x) {
          for (int c = 0; c < 3; ++c) {
            pixels.rgb.push_back(static_cast<uint8_t>(128 + 60 * std::sin(x * across + c * i) +
                                                      60 * std::sin(y * down - c)));
          }
        }
      }
      const bool is_png = i % 3 == 0;
      folder_.Write(std::string(1, static_cast<char>('a' + i)) + (is_png ? ".png" : ".jpg"),
                    is_png ? EncodePng(pixels) : EncodeJpeg(pixels, 92));
    }
  }

  ClassifySettings Settings(const std::string& model = "lenet5") const {
    return {.model = model, .images = folder_.Path(), .items = 7, .threads = 2};
  }

  // By hand, one image at a time, uncut.
  std::vector<std::vector<float>> Expected(const std::string& model_name) const {
    const auto model = OpenModel(model_name);
    ModelProgram program(*model, {});
    std::vector<std::vector<float>> scores;
    for (const std::string& file : ImageFilesOf(folder_.Path())) {
      const Pixels pixels = DecodeImage(ReadImageFile(file), file);
      const auto side = [&](int i) { return static_cast<int>(model->image[i]); };
      Tensor image({1, side(0), side(1), side(2)});
      ImageScaler(pixels, side(0), side(1), side(2)).Scale(0, side(0), image.Floats());
      const Tensor row =
          program.session().Run({{ModelProgram::kImages, image}}, program.fetches())[0];
      scores.emplace_back(row.Floats(), row.Floats() + row.Elements());
    }
    return scores;
  }

  std::string Why(const ClassifySettings& settings) const {
    try {
      MakeClassify(settings);
    } catch (const InputError& error) {
      return error.what();
    }
    ADD_FAILURE() << "accepted";
    return "";
  }

  const TemporaryFolder folder_;
};

class ClassifyModelTest : public ClassifyTest, public ::testing::WithParamInterface<const char*> {};

// In their order, whatever the number of parts, and whether batches are full or padded.
TEST_P(ClassifyModelTest, PartsScoreAsTheUncutNetworkDoes) {
  const auto expected = Expected(GetParam());
  for (const int parts : {1, 2, 4}) {
    for (const int batch : {1, 4}) {
      ClassifySettings settings = Settings(GetParam());
      settings.parts = parts;
      settings.batch = batch;
      StartedPipeline run(WithoutRanks(settings), {2, 2});
      run.Submit(0);
      const PipelineResult result = run.Await(0);
      ASSERT_EQ(result.answer.status, Status::kDone) << result.answer.why;
      const auto scores = ScoresOf(result);
      ASSERT_EQ(scores.size(), expected.size());
      for (size_t i = 0; i < scores.size(); ++i) {
        ASSERT_EQ(scores[i].size(), expected[i].size());
        for (size_t c = 0; c < scores[i].size(); ++c) {
          ASSERT_NEAR(scores[i][c], expected[i][c], 1e-4 * std::max(1.0f, std::abs(expected[i][c])))
              << "image " << i << ", class " << c << ", " << parts << " parts, batch " << batch;
        }
      }
    }
  }
}

TEST_P(ClassifyModelTest, AnswersAreTheLikeliestClassesOfEachImageInOrder) {
  const auto expected = Expected(GetParam());
  ClassifySettings settings = Settings(GetParam());
  settings.items = 5;
  settings.open.open = settings.open.open_max = 2;
  const ClassifyProgram classify = MakeClassify(settings);
  EXPECT_THAT(classify.images.front(), HasSubstr("/a.png"));
  StartedPipeline run(classify.program, {2, 2});
  for (int64_t number = 0; number < 4; ++number) run.Submit(number);
  for (int64_t number = 3; number >= 0; --number) {
    const PipelineResult result = run.Await(number);
    ASSERT_EQ(result.answer.status, Status::kDone) << result.answer.why;
    const std::vector<RankedClasses> all = ClassesOf(result.answer.payloads);
    ASSERT_EQ(all.size(), 5u);
    for (size_t i = 0; i < all.size(); ++i) {
      const auto& scores = expected[(static_cast<size_t>(number) * 5 + i) % expected.size()];
      const RankedClasses ranked = RankClasses(scores.data(), static_cast<int64_t>(scores.size()));
      EXPECT_EQ(Indices(all[i]), Indices(ranked)) << number << ", " << i;
      EXPECT_NEAR(all[i].front().probability, ranked.front().probability, 1e-4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ClassifyModelTest,
                         ::testing::Values("lenet5", "resnet20", "squeezenet1_1"));

// Batches are by order, so even the bits do not depend on who computes when.
TEST_F(ClassifyTest, CoresThatComeAndGoChangeNoBit) {
  ClassifySettings settings = Settings("resnet20");
  settings.parts = 3;
  settings.open.open = settings.open.open_max = 3;
  constexpr int64_t kRequests = 8;
  std::vector<std::vector<float>> still;
  for (const bool resized : {false, true}) {
    StartedPipeline run(WithoutRanks(settings), {2, 2});
    for (int64_t number = 0; number < kRequests; ++number) run.Submit(number);
    const std::jthread resizer([&](const std::stop_token& stop) {
      Random random(3);
      while (resized && !stop.stop_requested()) {
        const auto cores = static_cast<int>(random.Below(3));
        run.Resize({cores, cores});
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      run.Resize({2, 1});
    });
    for (int64_t number = 0; number < kRequests; ++number) {
      const auto scores = ScoresOf(run.Await(number));
      ASSERT_EQ(scores.size(), 7u);
      if (still.empty()) still = scores;
      EXPECT_EQ(scores, still);
    }
  }
}

// Others overtake it on the other core, but are not in its place.
TEST_F(ClassifyTest, AnswersAreInOrderWhereTheFirstImageTakesLongest) {
  Pixels large{.width = 3000, .height = 2000};
  large.rgb.resize(size_t{3} * 3000 * 2000);
  for (size_t i = 0; i < large.rgb.size(); ++i) large.rgb[i] = static_cast<uint8_t>(i / 7 % 200);
  folder_.Write("A.png", EncodePng(large));
  const auto expected = Expected("lenet5");
  ASSERT_EQ(expected.size(), 8u);
  ClassifySettings settings = Settings();
  settings.items = 8;
  StartedPipeline run(WithoutRanks(settings), {2, 1});
  run.Submit(0);
  const auto scores = ScoresOf(run.Await(0));
  ASSERT_EQ(scores.size(), 8u);
  for (size_t i = 0; i < scores.size(); ++i) {
    for (size_t c = 0; c < scores[i].size(); ++c)
      EXPECT_NEAR(scores[i][c], expected[i][c], 1e-4 * std::max(1.0f, std::abs(expected[i][c])));
  }
}

TEST_F(ClassifyTest, ABrokenImageFailsItsRequestAndNoOther) {
  const std::string whole = folder_.Contents("c.jpg");
  folder_.Write("c.jpg", whole.substr(0, whole.size() / 2));
  ClassifySettings settings = Settings();
  settings.items = 2;  // a b, c d, e f
  settings.open.open = settings.open.open_max = 3;
  settings.progress = std::make_shared<ClassifyProgress>();
  StartedPipeline run(MakeClassify(settings).program, {2, 2});
  for (int64_t number = 0; number < 3; ++number) run.Submit(number);
  for (const int64_t number : {0, 2}) {
    EXPECT_EQ(run.Await(number).answer.status, Status::kDone);
    EXPECT_EQ(ClassesOf(run.Await(number).answer.payloads).size(), 2u);
  }
  const PipelineResult failed = run.Await(1);
  EXPECT_EQ(failed.answer.status, Status::kFailed);
  EXPECT_EQ(failed.stage, "decode");
  EXPECT_THAT(failed.answer.why, HasSubstr(folder_.PathOf("c.jpg") + ": is a broken JPEG: "));
  EXPECT_TRUE(failed.answer.bad_input);
  // One that is gone.
  std::filesystem::remove(folder_.PathOf("d.png"));
  run.Submit(8);  // c and d, again: 16 mod 7 is 2.
  EXPECT_EQ(run.Await(8).answer.status, Status::kFailed);
}

TEST_F(ClassifyTest, WorkIsANumberOfImages) {
  StartedPipeline run(MakeClassify(Settings()).program, {1, 1});
  const std::map<double, size_t> images = {{0, 0}, {1.0 / 7, 1}, {2, 14}};
  int64_t number = 0;
  for (const auto& [work, count] : images) {
    EXPECT_EQ(static_cast<size_t>(ClassifyItems(Settings(), work)), count);
    run.Submit(++number, work);
    const PipelineResult result = run.Await(number);
    EXPECT_EQ(result.answer.status, Status::kDone);
    EXPECT_EQ(ClassesOf(result.answer.payloads).size(), count);
  }
}

TEST_F(ClassifyTest, WithoutAFolderItMakesImages) {
  ClassifySettings settings = Settings();
  settings.images = "";
  const ClassifyProgram classify = MakeClassify(settings);
  EXPECT_EQ(classify.images.size(), 32u);
  StartedPipeline run(classify.program, {2, 2});
  run.Submit(0);
  EXPECT_EQ(ClassesOf(run.Await(0).answer.payloads).size(), 7u);
  const auto bytes = [](uint64_t seed) {
    std::string all;
    for (const ImageSource& source : MakeImages(seed)) all += *source.bytes;
    return all;
  };
  EXPECT_TRUE(bytes(1) == bytes(1));
  EXPECT_FALSE(bytes(1) == bytes(2));
}

TEST_F(ClassifyTest, StagesAreThoseOfItsSpecificationForAnyCredits) {
  for (const int parts : {1, 3}) {
    for (const int open : {1, 4}) {
      for (const CreditLink link : {CreditLink::kLinear, CreditLink::kEndToEnd}) {
        ClassifySettings settings = Settings();
        settings.parts = parts;
        settings.open = {link, open, open + 1};
        const PipelineSpec spec = ClassifySpec(settings);
        EXPECT_NO_THROW(Check(spec));
        EXPECT_EQ(spec.stages.size(), 4u + static_cast<size_t>(parts));
        EXPECT_EQ(MakeClassify(settings).program.stages.size(), spec.stages.size());
      }
    }
  }
}

TEST_F(ClassifyTest, RefusesWhatCanNotBe) {
  const auto why = [this](const std::function<void(ClassifySettings*)>& change) {
    ClassifySettings settings = Settings();
    change(&settings);
    EXPECT_THROW(CheckClassify(settings), InputError);
    return Why(settings);
  };
  EXPECT_THAT(why([](auto* s) { s->parts = 0; }), HasSubstr("parts: 0; allowed: 1 to "));
  EXPECT_THAT(why([](auto* s) { s->parts = 999; }), HasSubstr("parts: 999"));
  EXPECT_THAT(why([](auto* s) { s->batch = 0; }), HasSubstr("batch: 0"));
  EXPECT_THAT(why([](auto* s) { s->items = -1; }), HasSubstr("items: -1"));
  EXPECT_THAT(why([](auto* s) { s->model = "none"; }), HasSubstr("none"));
  EXPECT_THAT(why([](auto* s) { s->model = "segmenter"; }), HasSubstr("tells of each pixel"));
  EXPECT_THAT(why([](auto* s) { s->images = "/none"; }), HasSubstr("images: /none: No such file"));
  ClassifySettings settings = Settings();
  settings.weights_file = folder_.PathOf("a.png");
  EXPECT_THAT(Why(settings), HasSubstr("a.png"));
  EXPECT_NO_THROW(CheckClassify(Settings()));
}

TEST(RankClassesTest, TheLikeliestFirst) {
  const std::vector<float> scores = {0, 3, 1, 3, -5, 2, 1000};
  const RankedClasses ranked = RankClasses(scores.data(), 6);
  EXPECT_THAT(Indices(ranked), ElementsAre(1, 3, 5, 2, 0));
  double sum = 0;
  for (int i = 0; i < 6; ++i) sum += std::exp(scores[static_cast<size_t>(i)]);
  EXPECT_NEAR(ranked[0].probability, std::exp(3.0) / sum, 1e-6);
  EXPECT_NEAR(ranked[4].probability, 1 / sum, 1e-6);
  EXPECT_THAT(Indices(RankClasses(scores.data(), 3)), ElementsAre(1, 2, 0));
  EXPECT_NEAR(RankClasses(scores.data(), 7)[0].probability, 1, 1e-6);
}

}  // namespace
}  // namespace cosched
