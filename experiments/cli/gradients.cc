#include "experiments/cli/gradients.h"

#include <memory>
#include <string>

#include "experiments/cli/kernel_rates_option.h"
#include "experiments/cli/typed_option.h"
#include "experiments/config/kernel_rates_choice.h"
#include "experiments/config/option_refusal.h"
#include "workloads/gradient_step.h"

namespace cosched {
namespace {

struct GradientsArguments {
  std::string model, tensors, out, layers;
  std::string kernel_rates = kMeasuredRates;
  int threads = 1;
};

int CompareGradients(const GradientsArguments& arguments) {
  if (arguments.layers == arguments.out)
    RefuseValue("--layers", arguments.layers, "another file than --out");
  SessionOptions options;
  options.intra_op_parallelism_threads = arguments.threads;
  options.rates = KernelRatesOption(arguments.kernel_rates);
  const auto model = OpenModel(arguments.model);
  GradientStep step(*model, LoadTensors(arguments.tensors), arguments.tensors, options);
  SaveTensors(step.Run(), arguments.out);
  if (!arguments.layers.empty()) SaveTensors(step.LayerOutputs(), arguments.layers);
  return 0;
}

}  // namespace

void AddGradientsCommand(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand(
      "gradients", "The loss and gradients of one training step, to compare with PyTorch's");
  const auto arguments = std::make_shared<GradientsArguments>();
  command->add_option("--model", arguments->model, "See `cosched list models`")->required();
  command
      ->add_option("--tensors", arguments->tensors,
                   "File (workloads/weights_file.h) of images, labels and the model's variables")
      ->required();
  command->add_option("--out", arguments->out, "File for loss, logits and gradients")->required();
  command->add_option("--layers", arguments->layers,
                      "File for what each layer's bias or batch norm gives, before activations");
  AddNumber(command, "--threads", &arguments->threads, 1, 1024, "Of the intra-op pool");
  AddKernelRatesOption(command, &arguments->kernel_rates);
  command->callback([arguments, exit_code] { *exit_code = CompareGradients(*arguments); });
}

}  // namespace cosched
