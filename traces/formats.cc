#include "traces/formats.h"

#include <array>

#include "engine/base/error.h"

namespace cosched {

JobTrace ReadCsvTrace(const std::filesystem::path& file,
                      const ArrivalCheck& check);  // readers/csv.cc

std::span<const TraceFormat> TraceFormats() {
  static constexpr std::array kFormats = {
      TraceFormat{"csv", ".csv",
                  "arrival_s,workload[,cores_min,cores_preferred,cores_max,priority,steps]; "
                  "traces/FORMAT.md",
                  ReadCsvTrace},
  };
  return kFormats;
}

JobTrace ReadTrace(const std::filesystem::path& file, const ArrivalCheck& check) {
  std::string extensions;
  for (const TraceFormat& format : TraceFormats()) {
    if (file.extension() == format.extension) return format.read(file, check);
    extensions += (extensions.empty() ? "" : ", ") + std::string(format.extension);
  }
  throw InputError({.file = file.string(),
                    .problem = "is in no known trace format",
                    .allowed = "a file name that ends in " + extensions});
}

}  // namespace cosched
