#include "workloads/training_job.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/base/random.h"
#include "workloads/auto_split.h"
#include "workloads/model.h"
#include "workloads/weights_file.h"

namespace cosched {
namespace {

std::string Describe(const Shape& image, int classes) {
  return image.ToString() + " images in " + std::to_string(classes) + " classes";
}

void CheckFits(const ModelInfo& model, int batch, const Dataset& dataset) {
  if (dataset.ImageShape() != model.image || dataset.Classes() != model.classes) {
    throw InputError({.key = "dataset",
                      .problem = Describe(dataset.ImageShape(), dataset.Classes()) +
                                 " do not fit the model " + model.name,
                      .allowed = Describe(model.image, model.classes)});
  }
  if (batch < 1 || batch > dataset.Size()) {
    throw InputError(
        {.key = "batch",
         .problem = std::to_string(batch) + " images",
         .allowed = "1 to " + std::to_string(dataset.Size()) + ", the size of the data set"});
  }
}

// The seeded order of an endless training: a new permutation each epoch, cut into full batches;
// what is left of an epoch (less than a batch) is skipped, as TensorFlow's drop_remainder does.
class EpochOrder {
 public:
  EpochOrder(int64_t images, int batch, uint64_t seed)
      : random_(Random(seed).Derive("order")),
        batch_(static_cast<size_t>(batch)),
        order_(static_cast<size_t>(images)),
        position_(order_.size()) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  int64_t BatchesPerEpoch() const { return static_cast<int64_t>(order_.size() / batch_); }

  std::span<const int64_t> Next() {
    if (position_ + batch_ > order_.size()) {
      for (size_t i = order_.size() - 1; i > 0; --i) {
        std::swap(order_[i], order_[random_.Below(i + 1)]);
      }
      position_ = 0;
    }
    position_ += batch_;
    return {order_.data() + position_ - batch_, batch_};
  }

 private:
  Random random_;
  size_t batch_;
  std::vector<int64_t> order_;
  size_t position_;
};

// One batch's tensors, written anew for every step.
struct Batch {
  // `rows`: how many predictions there are for all images together.
  Batch(int size, const Shape& image, int64_t rows)
      : images(Shape{size, image[0], image[1], image[2]}),
        labels(Shape{rows}, DataType::kInt32),
        image_elements(image.Elements()),
        rows_per_image(rows / size) {
    std::fill_n(images.Floats(), images.Elements(), 0.0f);
    std::fill_n(labels.Ints(), labels.Elements(), 0);
  }
  // A data set labels images, so each pixel is taught its image's label where pixels are predicted.
  void Read(const Dataset& dataset, int64_t index, int image) {
    const int label = dataset.Read(index, images.Floats() + image * image_elements);
    std::fill_n(labels.Ints() + image * rows_per_image, rows_per_image, label);
  }

  Tensor images;
  Tensor labels;
  int64_t image_elements, rows_per_image;
};

ProgramSettings ProgramOf(const JobSettings& settings) {
  return {.mode = settings.mode,
          .batch = settings.batch,
          .seed = settings.seed,
          .weights_file = settings.weights_file,
          .precision = settings.precision,
          .session = SessionOf(settings, settings.session)};
}

// In the first `rows` rows: how many highest scores are at the label.
int64_t CountCorrect(const Tensor& scores, const Tensor& labels, int64_t rows) {
  const int64_t classes = scores.GetShape()[1];
  int64_t correct = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const float* first = scores.Floats() + row * classes;
    correct += std::max_element(first, first + classes) - first == labels.Ints()[row] ? 1 : 0;
  }
  return correct;
}

// The data set that the settings name, or the part of it.
std::unique_ptr<Dataset> OpenPart(const JobSettings& settings, const ModelInfo& model) {
  std::unique_ptr<Dataset> whole = OpenDataset(settings.dataset, settings.data_directory,
                                               model.image, model.classes, settings.seed);
  const int64_t size = whole->Size(), first = settings.first_image;
  if (first < 0 || first >= size || settings.images < 0 || settings.images > size - first) {
    throw InputError(
        {.key = "images",
         .problem = std::to_string(settings.images) + " images from " + std::to_string(first),
         .allowed = "within the " + std::to_string(size) + " of the data set"});
  }
  if (first == 0 && settings.images == 0) return whole;
  return Slice(std::move(whole), first, settings.images > 0 ? settings.images : size - first);
}

}  // namespace

struct TrainingJob::Impl {
  Impl(const JobSettings& job_settings, std::shared_ptr<const ModelInfo> opened,
       std::unique_ptr<Dataset> own, const Dataset& data)
      : settings(job_settings),
        model(std::move(opened)),
        owned(std::move(own)),
        dataset(data),
        order(dataset.Size(), settings.batch, settings.seed),
        program(*model, ProgramOf(settings)),
        batch(settings.batch, model->image, program.Rows()) {
    if (!settings.auto_split) return;
    auto_split.emplace(&program.session(), program.session().GraphWidth(program.fetches()));
  }

  // The session to infer with, holding the weights of now.
  Session& InferenceSession() {
    if (settings.mode == Mode::kInfer) return program.session();
    if (evaluation == nullptr) {
      ProgramSettings evaluating = ProgramOf(settings);
      evaluating.mode = Mode::kInfer;
      evaluating.keeps_variables = true;
      evaluation = std::make_unique<ModelProgram>(*model, evaluating);
    }
    for (const std::string& name : evaluation->session().VariableNames()) {
      evaluation->session().SetVariable(name, program.session().Variable(name));
    }
    return evaluation->session();
  }

  // Gives a session the job's cores and split of the moment, so that evaluation stays within the
  // grant, too; waits while paused.
  void FollowCores(Session* session) {
    if (session == &program.session()) return;
    const ThreadPools& leader = program.session().Pools();
    WantedThreads wanted = leader.Wanted();
    while (wanted.paused || wanted.cores.Empty() || wanted.split.inter < 1 ||
           wanted.split.intra < 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      wanted = leader.Wanted();
    }
    const WantedThreads has = session->Pools().Wanted();
    if (has.cores != wanted.cores || has.split != wanted.split)
      session->Resize(wanted.cores, wanted.split);
  }

  JobSettings settings;
  std::shared_ptr<const ModelInfo> model;
  std::unique_ptr<Dataset> owned;  // Null if the caller gave the data set.
  const Dataset& dataset;
  EpochOrder order;
  ModelProgram program;
  Batch batch;
  std::unique_ptr<ModelProgram> evaluation;  // A training job has it, from the first Accuracy().
  std::optional<AutoSplit> auto_split;
  int64_t steps = 0;
};

TrainingJob::TrainingJob(const JobSettings& settings) {
  std::shared_ptr<const ModelInfo> model = OpenModel(settings.model);
  std::unique_ptr<Dataset> dataset = OpenPart(settings, *model);
  CheckFits(*model, settings.batch, *dataset);
  const Dataset& data = *dataset;
  impl_ = std::make_unique<Impl>(settings, std::move(model), std::move(dataset), data);
}

TrainingJob::TrainingJob(const JobSettings& settings, const Dataset& dataset) {
  std::shared_ptr<const ModelInfo> model = OpenModel(settings.model);
  CheckFits(*model, settings.batch, dataset);
  impl_ = std::make_unique<Impl>(settings, std::move(model), nullptr, dataset);
}

TrainingJob::~TrainingJob() = default;

StepResult TrainingJob::Step() {
  Impl& job = *impl_;
  int row = 0;
  for (int64_t index : job.order.Next()) job.batch.Read(job.dataset, index, row++);
  Feeds feeds = {{ModelProgram::kImages, job.batch.images}};
  const bool training = job.settings.mode == Mode::kTrain;
  if (training) feeds.emplace_back(ModelProgram::kLabels, job.batch.labels);
  if (job.auto_split) job.auto_split->BeginStep();
  const std::vector<Tensor> results = job.program.session().Run(feeds, job.program.fetches());
  if (job.auto_split) job.auto_split->EndStep();
  ++job.steps;
  return {.loss = training ? results[1].Floats()[0] : 0,
          .correct = CountCorrect(results[0], job.batch.labels, job.program.Rows()),
          .predictions = job.program.Rows(),
          .images = row};
}

int64_t TrainingJob::StepsDone() const { return impl_->steps; }

double TrainingJob::Accuracy(const Dataset& dataset) {
  Impl& job = *impl_;
  CheckFits(*job.model, 1, dataset);
  Session& session = job.InferenceSession();
  const std::vector<std::string>& fetches =
      job.evaluation != nullptr ? job.evaluation->fetches() : job.program.fetches();
  int64_t correct = 0;
  for (int64_t first = 0; first < dataset.Size(); first += job.settings.batch) {
    // The last batch may be short; the graph's shape is fixed, so its other rows keep old images
    // and are not counted.
    const auto rows =
        static_cast<int>(std::min<int64_t>(job.settings.batch, dataset.Size() - first));
    for (int row = 0; row < rows; ++row) job.batch.Read(dataset, first + row, row);
    job.FollowCores(&session);
    const std::vector<Tensor> results =
        session.Run({{ModelProgram::kImages, job.batch.images}}, fetches);
    correct += CountCorrect(results[0], job.batch.labels, rows * job.batch.rows_per_image);
  }
  return static_cast<double>(correct) /
         static_cast<double>(dataset.Size() * job.batch.rows_per_image);
}

void TrainingJob::SaveWeights(const std::string& file) {
  CHECK(impl_->settings.mode == Mode::kTrain) << "an inference graph has no variables";
  NamedTensors weights;
  for (const std::string& name : WeightNames(impl_->program.graph()))
    weights.emplace(name, impl_->program.session().Variable(name));
  SaveTensors(weights, file);
}

Session& TrainingJob::session() { return impl_->program.session(); }

}  // namespace cosched
