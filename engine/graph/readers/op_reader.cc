#include "engine/graph/readers/op_reader.h"

#include <algorithm>
#include <utility>

namespace cosched {
namespace {

std::string InputText(int input, std::string_view what) {
  return "input " + std::to_string(input) + " (" + std::string(what) + ")";
}

}  // namespace

const std::string& VariableNames::Of(const std::string& weight, const std::string& layout) {
  const auto [entry, added] = names_.try_emplace({weight, layout});
  std::string& name = entry->second;
  if (!added) return name;
  std::string base = weight.substr(0, 256);
  std::replace(base.begin(), base.end(), ':', '_');  // A fetch is "name:output".
  name = base;
  int& number = tried_.emplace(base, 1).first->second;
  while (!taken_.insert(name).second) name = base + "_" + std::to_string(++number);
  return name;
}

void OpReader::Fail(const std::string& problem, const std::string& allowed) const {
  FailSource(state_.model.file, node_, problem, allowed);
}

const SourceAttribute* OpReader::Find(const std::string& name) const {
  const auto found = node_.attributes.find(name);
  return found == node_.attributes.end() ? nullptr : &found->second;
}

template <typename T>
T OpReader::Get(const std::string& name, std::optional<T> otherwise, const char* kind) const {
  const SourceAttribute* attribute = Find(name);
  if (attribute == nullptr) {
    if (!otherwise) Fail("attribute " + name + " is missing", kind);
    return *std::move(otherwise);
  }
  const T* value = std::get_if<T>(attribute);
  if (value == nullptr) Fail("attribute " + name + " is of another kind", kind);
  return *value;
}

int64_t OpReader::Int(const std::string& name, std::optional<int64_t> otherwise) const {
  return Get(name, otherwise, "an integer");
}

float OpReader::Float(const std::string& name, std::optional<float> otherwise) const {
  return Get(name, otherwise, "a float");
}

std::string OpReader::Text(const std::string& name, std::optional<std::string> otherwise) const {
  return Get(name, std::move(otherwise), "a string");
}

std::vector<int64_t> OpReader::Ints(const std::string& name,
                                    std::optional<std::vector<int64_t>> otherwise) const {
  return Get(name, std::move(otherwise), "integers");
}

std::vector<int64_t> OpReader::Sizes(const std::string& name, size_t count,
                                     std::optional<std::vector<int64_t>> otherwise, int64_t least,
                                     int64_t most) const {
  std::vector<int64_t> sizes = Ints(name, std::move(otherwise));
  const bool fits =
      sizes.size() == count &&
      std::all_of(sizes.begin(), sizes.end(), [&](int64_t s) { return s >= least && s <= most; });
  if (!fits) {
    Fail("attribute " + name + " is " + DimsText(sizes), std::to_string(count) + " integers from " +
                                                             std::to_string(least) + " to " +
                                                             std::to_string(most));
  }
  return sizes;
}

bool OpReader::Has(int input) const {
  return input < InputCount() && !node_.inputs[static_cast<size_t>(input)].empty();
}

const SourceValue& OpReader::Value(int input) const {
  if (!Has(input)) Fail("input " + std::to_string(input) + " is missing");
  const std::string& name = node_.inputs[static_cast<size_t>(input)];
  const auto found = state_.values.find(name);
  if (found == state_.values.end()) {
    Fail("it reads \"" + name + "\", which the op that gives it does not work out here",
         "first outputs of ops");
  }
  return found->second;
}

bool OpReader::AllConstant() const {
  for (int i = 0; i < InputCount(); ++i) {
    if (Has(i) && !IsConstant(i)) return false;
  }
  return true;
}

const Constant& OpReader::ConstantAt(int input, std::string_view what) const {
  const SourceValue& value = Value(input);
  if (value.constant == nullptr) {
    Fail(InputText(input, what) + " depends on the images", "a value known from the file alone");
  }
  return *value.constant;
}

std::vector<int64_t> OpReader::IntsAt(int input, std::string_view what) const {
  const Constant& constant = ConstantAt(input, what);
  if (constant.is_float || constant.dims.size() > 1) {
    Fail(InputText(input, what) + (constant.is_float ? " is of floats" : " has shape ") +
             (constant.is_float ? "" : DimsText(constant.dims)),
         "a list of integers");
  }
  if (constant.ints.size() > kMostSizes) {
    Fail(InputText(input, what) + " has " + std::to_string(constant.ints.size()) + " integers",
         std::to_string(kMostSizes) + " at most");
  }
  return constant.ints;
}

float OpReader::FloatAt(int input, std::string_view what) const {
  const Constant& constant = ConstantAt(input, what);
  if (ElementsOf(constant.dims) != 1) {
    Fail(InputText(input, what) + " has shape " + DimsText(constant.dims), "one number");
  }
  if (!constant.is_float) return static_cast<float>(constant.ints[0]);
  if (constant.floats.IsEmpty()) Fail(InputText(input, what) + " was put into another layout");
  return constant.floats.Floats()[0];
}

View OpReader::PaddedIn(int input) {
  const SourceValue& value = Value(input);
  if (value.constant == nullptr) return value.view;
  if (!value.constant->is_float || ElementsOf(value.constant->dims) < 1) {
    Fail(InputText(input, "data") + " is " + (value.constant->is_float ? "empty" : "of integers"),
         "floats; integers and shapes are worked out when the file is read");
  }
  return views().Plain(
      Weight(input, WeightLayout::AsIs(value.constant->dims), /*trainable=*/false));
}

View OpReader::In(int input) { return views().WithPadding(PaddedIn(input)); }

View OpReader::PaddedImage(int input) {
  View view = PaddedIn(input);
  if (view.shape.Rank() != 4) {
    Fail(InputText(input, "images") + " has shape " + view.shape.ToString(),
         views().channels_first() ? "[N,C,H,W]" : "[N,H,W,C]");
  }
  return view;
}

View OpReader::Image(int input) { return views().WithPadding(PaddedImage(input)); }

Output OpReader::Weight(int input, const WeightLayout& layout, bool trainable) {
  const SourceValue& value = Value(input);
  if (value.constant == nullptr) {
    const View split = views().Reshape(In(input), Shape(layout.split));
    const View moved = views().Transpose(split, layout.order);
    return views().Plainly(views().Reshape(moved, Shape(layout.shape)));
  }
  const Constant& constant = *value.constant;
  if (!constant.is_float || ElementsOf(constant.dims) < 1) {
    Fail(InputText(input, "weights") + " has shape " + DimsText(constant.dims) +
             (constant.is_float ? "" : " and is of integers"),
         "floats, at least one");
  }
  Tensor tensor = state_.weights.Take(state_.model, node_, value.constant, layout);
  if (constant.weight.empty()) return views().Const(std::move(tensor));
  GraphBuilder& builder = views().builder();
  const std::string& name = state_.variables.Of(constant.weight, layout.ToString());
  return trainable ? builder.Variable(name, std::move(tensor))
                   : builder.UntrainableVariable(name, std::move(tensor));
}

Output OpReader::Vector(int input, int64_t elements, bool trainable) {
  const std::vector<int64_t>& dims = Dims(input);
  if (ElementsOf(dims) != elements) {
    Fail(InputText(input, "weights") + " has shape " + DimsText(dims),
         std::to_string(elements) + " elements");
  }
  WeightLayout layout = WeightLayout::AsIs(dims);
  layout.shape = {elements};
  return Weight(input, layout, trainable);
}

Output OpReader::Literal(const Tensor& value) {
  Charge(static_cast<int64_t>(value.Bytes()));
  return views().Const(value);
}

int64_t OpReader::Axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) {
    Fail("axis " + std::to_string(axis) + " of " + std::to_string(rank) + " dimensions",
         std::to_string(-rank) + " to " + std::to_string(rank - 1));
  }
  return axis < 0 ? axis + rank : axis;
}

std::vector<int64_t> OpReader::Axes(std::vector<int64_t> axes, int rank) const {
  for (int64_t& axis : axes) axis = Axis(axis, rank);
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    Fail("axes " + DimsText(axes) + " name one twice");
  }
  return axes;
}

void OpReader::Give(SourceValue value, size_t output) {
  if (output >= node_.outputs.size()) Fail("output " + std::to_string(output) + " is missing");
  if (value.Dims().size() > kMostRank) {
    Fail("its result has " + std::to_string(value.Dims().size()) + " dimensions",
         std::to_string(kMostRank) + " at most");
  }
  state_.values[node_.outputs[output]] = std::move(value);
}

void OpReader::Give(Constant constant) {
  const int64_t elements = ElementsOf(constant.dims);
  if (!constant.is_float && elements > kMostIntegers) {
    Fail(std::to_string(elements) + " integers", std::to_string(kMostIntegers) + " at most");
  }
  Give(SourceValue{.constant = std::make_shared<const Constant>(std::move(constant)), .view = {}});
}

}  // namespace cosched
