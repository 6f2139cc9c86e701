#pragma once
// By which rates kernels choose, as an experiment file ([machine] kernel_rates) and the commands
// (--kernel-rates) name them: "measured", this machine's; "fixed", those of no machine, for exact
// repetition; or all values, as the manifest of a run has them. --dry-run says "kept" in place of
// "measured": this machine's if they have been measured, else none. Thread-safe.

#include <optional>
#include <string>
#include <string_view>

#include "engine/kernels/kernel_rates.h"

namespace cosched {

inline constexpr char kMeasuredRates[] = "measured", kFixedRates[] = "fixed";
inline constexpr char kKeptRates[] = "kept";  // In experiment files only.
inline constexpr char kAllowedRates[] =
    "measured, fixed, or all values, such as \"window=120,gradient=120,product=108,memory=10,"
    "filter=25,new=6.25,turned=6.25,summed=6.25,transform2=6,transform4=15,lanes=16\", as "
    "manifest.json has them";

// Nothing if the text names none. The first "measured" on a machine measures.
std::optional<KernelRates> ChosenKernelRates(std::string_view text);
// The rates that an option chooses: refuses what names none.
KernelRates KernelRatesOption(const std::string& text);

}  // namespace cosched
