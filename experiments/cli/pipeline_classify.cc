#include "experiments/cli/pipeline_classify.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/cli/kernel_rates_option.h"
#include "experiments/cli/pipeline_run.h"
#include "experiments/cli/program_options.h"
#include "experiments/cli/typed_option.h"
#include "experiments/config/kernel_rates_choice.h"
#include "experiments/config/option_refusal.h"
#include "experiments/os/exit_code.h"
#include "experiments/os/interrupt.h"
#include "experiments/records/csv.h"
#include "workloads/pipelines/classify.h"

namespace cosched {
namespace {

constexpr int64_t kMostClassifyRequests = 1'000'000;

struct ClassifyArguments {
  ClassifySettings settings;
  CreditLink link = CreditLink::kLinear;
  int open = 1;
  std::string out;
  std::string kernel_rates = kMeasuredRates;
  std::optional<int> threads;
  std::optional<int64_t> requests;
};

void CheckClassifyFiles(const ClassifyArguments& arguments) {
  std::error_code ignored;
  const auto is_folder = [&](const std::filesystem::path& path) {
    return std::filesystem::is_directory(path, ignored);
  };
  const std::string& images = arguments.settings.images;
  if (!images.empty() && !is_folder(images))
    RefuseValue("--images", images, "a folder that is there");
  const std::string& weights = arguments.settings.weights_file;
  if (!weights.empty() && !std::filesystem::is_regular_file(weights, ignored))
    RefuseValue("--load-weights", weights, "a file that is there");
  if (arguments.out.empty()) return;
  const auto out = std::filesystem::absolute(arguments.out);
  if (is_folder(out) || !is_folder(out.parent_path()))
    RefuseValue("--out", arguments.out, "a file in a folder that is there");
}

// So many requests, of which the last may have fewer images: with a folder and no number, each of
// its images once.
struct ClassifyRequests {
  int64_t count = 1;
  double last_work = 1;
};

ClassifyRequests RequestsOf(const ClassifyArguments& arguments, int64_t images) {
  const ClassifySettings& settings = arguments.settings;
  if (arguments.requests) return {.count = *arguments.requests};
  if (settings.images.empty()) return {};
  const int64_t count = (images + settings.items - 1) / settings.items;
  const int64_t rest = images - (count - 1) * settings.items;
  return {count, static_cast<double>(rest) / static_cast<double>(settings.items)};
}

// What the requests were about, and what was seen.
class ClassifyReport {
 public:
  ClassifyReport(const ClassifySettings& settings, const ClassifyRequests& requests,
                 const std::vector<std::string>& images)
      : settings_(settings), requests_(requests), images_(images) {}

  // "request 3 (c.jpg to j.png)"
  std::string Request(int64_t number) const {
    const double work = number + 1 == requests_.count ? requests_.last_work : 1;
    const int64_t count = ClassifyItems(settings_, work);
    return fmt::format("request {} ({}{})", number, Image(number, 0),
                       count > 1 ? " to " + Image(number, count - 1) : "");
  }

  // A line an image.
  std::string Lines(const std::vector<PipelineResult>& results) const {
    std::string lines;
    ForEachImage(results, [&](const std::string& image, const RankedClasses& classes) {
      lines += image + ":";
      for (const RankedClass& one : classes) {
        lines += fmt::format("{} {} {:.4f}", &one == classes.data() ? "" : ",", one.index,
                             one.probability);
      }
      lines += "\n";
    });
    return lines;
  }

  // A row a class of an image.
  std::string Csv(const std::vector<PipelineResult>& results) const {
    std::string rows = "image,rank,class,probability\n";
    CsvLine line;
    ForEachImage(results, [&](const std::string& image, const RankedClasses& classes) {
      int64_t rank = 0;
      for (const RankedClass& one : classes) {
        line.Text(image).Integer(++rank).Integer(one.index).Number(one.probability, 6);
        rows += line.End();
        line.Clear();
      }
    });
    return rows;
  }

 private:
  std::string Image(int64_t request, int64_t index) const {
    const auto at = static_cast<size_t>(request * settings_.items + index);
    return std::filesystem::path(images_[at % images_.size()]).filename().string();
  }

  template <typename Visit>
  void ForEachImage(const std::vector<PipelineResult>& results, const Visit& visit) const {
    for (const PipelineResult& result : results) {
      if (result.answer.status != PipelineAnswer::Status::kDone) continue;
      int64_t index = 0;
      for (const RankedClasses& classes : ClassesOf(result.answer.payloads))
        visit(Image(result.number, index++), classes);
    }
  }

  const ClassifySettings& settings_;
  const ClassifyRequests requests_;
  const std::vector<std::string>& images_;
};

bool WasCancelled(const PipelineResult& result) {
  return result.answer.status == PipelineAnswer::Status::kCancelled;
}

int ReportClasses(const PipelineRun& run, const ClassifyReport& report,
                  const ClassifyArguments& arguments) {
  const ClassifyProgress& progress = *arguments.settings.progress;
  const int exit_code = run.TellFailures([&](int64_t request) { return report.Request(request); });
  if (arguments.out.empty()) {
    fmt::print("{}", report.Lines(run.Results()));
  } else if (std::ranges::any_of(run.Results(), WasCancelled)) {
    // Without the images that are missing it would look like a whole one.
    fmt::print(stderr, "cosched: interrupted; {} was not written\n", arguments.out);
  } else {
    WriteFileWhole(arguments.out, report.Csv(run.Results()));
  }
  const auto images = static_cast<double>(progress.images_classified);
  fmt::print("{:.0f} images in {:.2f} s, {:.1f} images/s\n{}", images, run.Seconds(),
             images / run.Seconds(), run.StageTable());
  return exit_code;
}

int RunClassify(ClassifyArguments arguments) {
  const Topology topology = Topology::ThisMachine();
  const int most = topology.Cpus().Count();
  const int threads = arguments.threads.value_or(most);
  CheckNumber("--threads", threads, 1, most);
  CheckClassifyFiles(arguments);
  ClassifySettings& settings = arguments.settings;
  settings.threads = threads;
  settings.open = {arguments.link, arguments.open, arguments.open};
  settings.progress = std::make_shared<ClassifyProgress>();
  const SignalScope signals;
  SessionOptions session;
  session.rates = KernelRatesOption(arguments.kernel_rates);
  const ClassifyProgram classify = MakeClassify(settings, session);
  if (Interrupted()) return kInterrupted;
  const ClassifyRequests requests =
      RequestsOf(arguments, static_cast<int64_t>(classify.images.size()));
  PipelineRun run(classify.program, topology.Cpus().Lowest(threads), topology);
  run.Run(
      requests.count,
      [&] {
        const int64_t images = settings.progress->images_classified;
        return fmt::format("{} images classified, {:.1f} images/s", images,
                           static_cast<double>(images) / run.SecondsSoFar());
      },
      requests.last_work);
  return ReportClasses(run, ClassifyReport(settings, requests, classify.images), arguments);
}

}  // namespace

void AddClassifyCommand(CLI::App* run, int* exit_code) {
  CLI::App* command =
      run->add_subcommand(kClassifyName, "Tell which classes a network sees in images");
  const auto arguments = std::make_shared<ClassifyArguments>();
  ClassifySettings& settings = arguments->settings;
  command->add_option("--model", settings.model, "Of `cosched list models`, onnx: or graphdef:FILE")
      ->required();
  command->add_option("--images", settings.images,
                      "Folder with JPEG and PNG files; default: images that are made");
  command->add_option(
      "--load-weights", settings.weights_file,
      "Weights in this file (format: workloads/weights_file.h); default: initial ones");
  command->add_option(
      "--out", arguments->out,
      "CSV file with the five likeliest classes of each image; default: print them");
  AddNumber(command, "--seed", &settings.seed, 0, UINT64_MAX,
            "Of initial weights, and of images that are made");
  AddNumber(command, "--parts", &settings.parts, 1, kMostClassifyParts,
            "Stages that the network is cut into");
  AddNumber(command, "--items", &settings.items, 1, kMostClassifyItems,
            "Images of a request, which fail together if one is broken");
  AddNumber(command, "--batch", &settings.batch, 1, kMostClassifyBatch,
            "Images of a request that the network computes at once, at most");
  AddNumber(command, "--threads", &arguments->threads, 1, kMostThreads,
            "Calls that compute side by side; default: one a core, which is the most");
  AddNumber(
      command, "--requests", &arguments->requests, 1, kMostClassifyRequests,
      "Behind the last image the first comes again; default: each of the folder's once, or 1");
  AddOpenOptions(command, &arguments->open, &arguments->link);
  AddKernelRatesOption(command, &arguments->kernel_rates);
  command->callback([arguments, exit_code] { *exit_code = RunClassify(*arguments); });
}

}  // namespace cosched
