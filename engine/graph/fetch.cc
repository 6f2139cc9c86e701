#include "engine/graph/fetch.h"

#include <algorithm>

#include "engine/base/error.h"

namespace cosched {
namespace {

[[noreturn]] void FailFetch(const std::string& fetch, const std::string& problem,
                            const std::string& allowed) {
  InputErrorDetails details;
  details.key = "fetch \"" + fetch + "\"";
  details.problem = problem;
  details.allowed = allowed;
  throw InputError(std::move(details));
}

}  // namespace

Output ParseFetch(const Graph& graph, const std::string& fetch) {
  NodeId id = graph.Find(fetch);
  if (id != -1) return {id, graph.At(id).outputs.empty() ? -1 : 0};
  const size_t colon = fetch.rfind(':');
  const std::string index = colon == std::string::npos ? "" : fetch.substr(colon + 1);
  id = graph.Find(fetch.substr(0, colon));
  const bool number =
      !index.empty() && index.size() < 4 &&
      std::all_of(index.begin(), index.end(), [](char c) { return '0' <= c && c <= '9'; });
  if (id == -1 || !number)
    FailFetch(fetch, "the graph has no such node", "\"node\" or \"node:output\"");
  const int outputs = static_cast<int>(graph.At(id).outputs.size());
  if (std::stoi(index) >= outputs) {
    FailFetch(fetch, "the node has " + std::to_string(outputs) + " outputs", "");
  }
  return {id, std::stoi(index)};
}

}  // namespace cosched
