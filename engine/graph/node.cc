#include "engine/graph/node.h"

#include "engine/base/check.h"

namespace cosched {
namespace {

template <typename T>
const T* FindAttribute(const Node& node, const std::string& name) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return nullptr;
  const T* value = std::get_if<T>(&found->second);
  CHECK(value != nullptr) << "attribute " << name << " of node " << node.name
                          << " has another type";
  return value;
}

}  // namespace

template <typename T>
const T& GetAttribute(const Node& node, const std::string& name) {
  const T* value = FindAttribute<T>(node, name);
  CHECK(value != nullptr) << "node " << node.name << " (" << node.op << ") has no attribute "
                          << name;
  return *value;
}

template <typename T>
T GetAttributeOr(const Node& node, const std::string& name, T otherwise) {
  const T* value = FindAttribute<T>(node, name);
  return value == nullptr ? otherwise : *value;
}

#define COSCHED_ATTRIBUTE_TYPE(T)                                     \
  template const T& GetAttribute<T>(const Node&, const std::string&); \
  template T GetAttributeOr<T>(const Node&, const std::string&, T);
COSCHED_ATTRIBUTE_TYPE(int64_t)
COSCHED_ATTRIBUTE_TYPE(float)
COSCHED_ATTRIBUTE_TYPE(bool)
COSCHED_ATTRIBUTE_TYPE(std::string)
COSCHED_ATTRIBUTE_TYPE(std::vector<int64_t>)
COSCHED_ATTRIBUTE_TYPE(Tensor)
#undef COSCHED_ATTRIBUTE_TYPE

}  // namespace cosched
