#include "workloads/inference_service.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/error.h"
#include "engine/pool/lanes.h"
#include "workloads/batch_networks.h"
#include "workloads/dataset.h"
#include "workloads/dataset_of_program.h"
#include "workloads/model.h"

namespace cosched {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Answers one batch at a time, for one lane.
class Answerer {
 public:
  Answerer(const BatchNetworks& networks, const ModelInfo& model, const Dataset& dataset,
           const SessionOptions& options)
      : networks_(networks), model_(model), dataset_(dataset), session_(networks.graph, options) {
    for (const int batch : networks.sizes) {
      Tensor& images =
          images_.emplace_back(Shape{batch, model.image[0], model.image[1], model.image[2]});
      std::fill_n(images.Floats(), images.Elements(), 0.0f);
    }
  }

  void WarmUp() {
    for (size_t i = 0; i < images_.size(); ++i) Run(i);
  }

  std::vector<int> Answer(const std::vector<ServiceQuery>& queries) {
    const size_t index = networks_.For(static_cast<int>(queries.size()));
    int runs = 1;
    float* pixels = images_[index].Floats();
    for (const ServiceQuery& query : queries) {
      const auto image = query.number % static_cast<uint64_t>(dataset_.Size());
      dataset_.Read(static_cast<int64_t>(image), pixels);
      pixels += model_.image.Elements();
      runs = std::max(runs, query.runs);
    }
    Tensor scores;
    for (int run = 0; run < runs; ++run) scores = Run(index);
    std::vector<int> classes;
    const int64_t scores_each = scores.Elements() / networks_.sizes[index];
    for (size_t row = 0; row < queries.size(); ++row) {
      const float* first = scores.Floats() + static_cast<int64_t>(row) * scores_each;
      classes.push_back(static_cast<int>(std::max_element(first, first + model_.classes) - first));
    }
    return classes;
  }

 private:
  Tensor Run(size_t index) {
    const NetworkEnds& ends = networks_.ends[index];
    return session_.Run({{ends.input, images_[index]}}, {ends.fetch})[0];
  }

  const BatchNetworks& networks_;
  const ModelInfo& model_;
  const Dataset& dataset_;
  std::vector<Tensor> images_;  // By network; rows beyond a batch's requests keep old images.
  Session session_;
};

}  // namespace

struct InferenceService::Impl {
  Impl(const ServiceSettings& settings, std::function<void(const ServedBatch&)> when_answered)
      : model(OpenModel(settings.model)),
        dataset(OpenDatasetOf(settings, *model)),
        networks(MakeBatchNetworks(*model, settings, {.weights_file = settings.weights_file})),
        answered(std::move(when_answered)),
        answerers(static_cast<size_t>(settings.session.inter_op_parallelism_threads)),
        queue(settings.batch, settings.max_delay),
        lanes(&mutex, "lane", answerers.size()),
        options(SessionOf(settings, settings.session)),
        pools({options.inter_op_parallelism_threads, options.intra_op_parallelism_threads},
              options.binding, options.topology, options.waiting) {
    options.pools = &pools;
    pools.OnWorkersAdded([this] { Follow(); });
  }

  // Made when it is first needed, on the thread that uses it.
  Answerer& AnswererOf(size_t lane) {
    std::unique_ptr<Answerer>& answerer = answerers[lane];
    if (!answerer) answerer = std::make_unique<Answerer>(networks, *model, *dataset, options);
    return *answerer;
  }

  void Begin();
  void Follow();
  void Serve(size_t lane);
  std::optional<ServedBatch> Next(size_t lane);

  const std::shared_ptr<const ModelInfo> model;
  const std::unique_ptr<Dataset> dataset;
  const BatchNetworks networks;
  const std::function<void(const ServedBatch&)> answered;
  // Sessions outlive the pools that they share, and so does what Follow() uses.
  std::vector<std::unique_ptr<Answerer>> answerers;  // By lane.
  mutable std::mutex mutex;                          // Guards the queue and the lanes.
  BatchQueue queue;
  Lanes lanes;
  SessionOptions options;
  ThreadPools pools;
};

void InferenceService::Impl::Begin() {
  for (size_t lane = 0; lane < static_cast<size_t>(std::max(1, pools.Current().inter)); ++lane)
    AnswererOf(lane).WarmUp();
  Follow();
  lanes.Start([this](size_t lane) { Serve(lane); });
}

// As many lanes as the split of the moment has inter-op threads. Asked with the lock held: of two
// resizes at once, whoever comes last here must not come with the older answer.
void InferenceService::Impl::Follow() {
  const std::lock_guard<std::mutex> lock(mutex);
  lanes.Open(static_cast<size_t>(pools.Current().inter));
}

// Blocks until there is a batch for this lane; none if there is no more to come.
std::optional<ServedBatch> InferenceService::Impl::Next(size_t lane) {
  std::unique_lock<std::mutex> lock(mutex);
  while (!lanes.Ended() && !queue.Over()) {
    const bool open = lanes.IsOpen(lane);
    const SteadyClock::time_point now = SteadyClock::now();
    if (open && queue.Due(now)) {
      ServedBatch batch;
      batch.started = now;
      batch.queries = queue.Take();
      // Somebody else must look at the clock for those that are left.
      if (queue.Size() > 0) lanes.WakeOne();
      return batch;
    }
    lanes.Sleep(lane, &lock, open ? queue.NextDue() : std::nullopt);
  }
  lanes.WakeAll();  // They look for the end, too.
  return std::nullopt;
}

void InferenceService::Impl::Serve(size_t lane) {
  while (std::optional<ServedBatch> batch = Next(lane)) {
    batch->classes = AnswererOf(lane).Answer(batch->queries);
    batch->finished = SteadyClock::now();
    answered(*batch);
  }
}

InferenceService::InferenceService(const ServiceSettings& settings,
                                   std::function<void(const ServedBatch&)> answered) {
  if (settings.batch < 1) {
    throw InputError({.key = "max_batch",
                      .problem = std::to_string(settings.batch) + " requests",
                      .allowed = "1 or more"});
  }
  const std::string problem = PrecisionProblem(settings.precision);
  if (!problem.empty())
    throw InputError({.key = "precision", .problem = problem, .allowed = "f32"});
  impl_ = std::make_unique<Impl>(settings, std::move(answered));
}

InferenceService::~InferenceService() { impl_->lanes.Stop(); }

void InferenceService::Begin() { impl_->Begin(); }

ThreadPools& InferenceService::Pools() { return impl_->pools; }

void InferenceService::Submit(std::span<const ServiceQuery> queries) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  for (const ServiceQuery& query : queries) impl_->queue.Add(query);
  impl_->lanes.WakeOne();
}

void InferenceService::Drain() {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->queue.Drain();
  impl_->lanes.WakeAll();
}

int64_t InferenceService::Waiting() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return static_cast<int64_t>(impl_->queue.Size());
}

void InferenceService::WaitUntilOver() { impl_->lanes.WaitUntilOver(); }

}  // namespace cosched
