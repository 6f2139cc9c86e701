#include "experiments/cli/gate_results.h"

#include <fmt/format.h>

#include "experiments/config/option_refusal.h"
#include "experiments/records/output_file.h"

namespace cosched {

void WriteJUnit(const std::vector<JudgedGates>& gates, const std::string& file) {
  if (file.empty()) return;
  if (!HasGates(gates)) RefuseOption("--junit", kNoGates, kWantedGates);
  WriteFileWhole(file, JUnitText(gates));
}

int TellGates(const std::vector<JudgedGates>& gates, const std::string& file) {
  const std::string text = GatesText(gates);
  if (!text.empty()) fmt::print("\n{}", text);
  WriteJUnit(gates, file);
  return AnyGateFails(gates) ? 1 : 0;
}

}  // namespace cosched
