#include "experiments/config/kernel_rates_choice.h"

#include "engine/kernels/kept_kernel_rates.h"
#include "experiments/config/option_refusal.h"

namespace cosched {

std::optional<KernelRates> ChosenKernelRates(std::string_view text) {
  if (text == kMeasuredRates) return ThisMachinesKernelRates().rates;
  if (text == kFixedRates) return KernelRates{};
  return ParseKernelRates(text);
}

KernelRates KernelRatesOption(const std::string& text) {
  const std::optional<KernelRates> rates = ChosenKernelRates(text);
  if (!rates) RefuseValue("--kernel-rates", text, kAllowedRates);
  return *rates;
}

}  // namespace cosched
