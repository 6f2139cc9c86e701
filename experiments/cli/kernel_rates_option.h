#pragma once
// --kernel-rates, of all commands that compute. Its text is for KernelRatesOption
// (experiments/config/kernel_rates_choice.h), which may have to measure.

#include <CLI/CLI.hpp>
#include <string>

namespace cosched {

inline void AddKernelRatesOption(CLI::App* command, std::string* text) {
  command
      ->add_option("--kernel-rates", *text,
                   "By which kernels choose: measured, this machine's (`cosched doctor`); fixed, "
                   "for exact repetition; or values as manifest.json has them")
      ->capture_default_str();
}

}  // namespace cosched
