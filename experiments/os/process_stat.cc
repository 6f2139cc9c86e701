#include "experiments/os/process_stat.h"

#include <charconv>
#include <iterator>
#include <sstream>

#include "experiments/os/proc_file.h"

namespace cosched {

std::optional<ProcessStat> ProcessStat::Of(const std::string& process) {
  // A command's name may hold anything, also line breaks.
  const std::string text = ProcFile::Read("/proc/" + process + "/stat").text;
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  ProcessStat stat;
  stat.fields_.assign(std::istream_iterator<std::string>(fields), {});
  return stat;
}

const std::string& ProcessStat::Text(Field field) const {
  static const std::string none;
  const auto index = static_cast<size_t>(field - kState);
  return index < fields_.size() ? fields_[index] : none;
}

int64_t ProcessStat::Number(Field field) const {
  const std::string& text = Text(field);
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace cosched
