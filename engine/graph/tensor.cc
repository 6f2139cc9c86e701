#include "engine/graph/tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "engine/base/check.h"
#include "engine/graph/tensor_memory.h"

namespace cosched {
namespace {

// The upper half of a float, rounded to the nearest, ties to even; NaNs stay so.
uint16_t ToBFloat16(float value) {
  if (std::isnan(value)) return 0x7fc0;
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

std::shared_ptr<void> Allocate(size_t bytes) {
  const size_t alignment = bytes >= kLeastOnHugePages ? kHugePage : kTensorAlignment;
  void* memory = ::operator new (std::max<size_t>(bytes, 1), std::align_val_t{alignment});
  if (alignment == kHugePage) madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return {memory, [alignment](void* p) { ::operator delete (p, std::align_val_t{alignment}); }};
}

}  // namespace

size_t SizeOf(DataType type) {
  switch (type) {
    case DataType::kFloat: return sizeof(float);
    case DataType::kInt32: return sizeof(int32_t);
    case DataType::kBFloat16: return sizeof(uint16_t);
  }
  return 0;
}

const char* NameOf(DataType type) {
  switch (type) {
    case DataType::kFloat: return "float";
    case DataType::kInt32: return "int32";
    case DataType::kBFloat16: return "bfloat16";
  }
  return "";
}

Tensor::Tensor(Shape shape, DataType type)
    : shape_(std::move(shape)), type_(type), buffer_(Allocate(Bytes())) {}

Tensor Tensor::Scalar(float value) { return Of(Shape(), std::span<const float>(&value, 1)); }

Tensor Tensor::Of(Shape shape, std::span<const float> values) {
  Tensor tensor(std::move(shape), DataType::kFloat);
  CHECK(static_cast<int64_t>(values.size()) == tensor.Elements())
      << values.size() << " values for shape " << tensor.GetShape().ToString();
  std::copy(values.begin(), values.end(), tensor.Floats());
  return tensor;
}

Tensor Tensor::Of(Shape shape, std::span<const int32_t> values) {
  Tensor tensor(std::move(shape), DataType::kInt32);
  CHECK(static_cast<int64_t>(values.size()) == tensor.Elements())
      << values.size() << " values for shape " << tensor.GetShape().ToString();
  std::copy(values.begin(), values.end(), tensor.Ints());
  return tensor;
}

size_t Tensor::Bytes() const { return static_cast<size_t>(Elements()) * SizeOf(type_); }

float* Tensor::Floats() {
  CHECK(type_ == DataType::kFloat) << "tensor holds " << NameOf(type_);
  return static_cast<float*>(buffer_.get());
}

const float* Tensor::Floats() const { return const_cast<Tensor*>(this)->Floats(); }

int32_t* Tensor::Ints() {
  CHECK(type_ == DataType::kInt32) << "tensor holds " << NameOf(type_);
  return static_cast<int32_t*>(buffer_.get());
}

const int32_t* Tensor::Ints() const { return const_cast<Tensor*>(this)->Ints(); }

Tensor Tensor::Clone() const {
  if (IsEmpty()) return {};
  Tensor copy(shape_, type_);
  std::memcpy(copy.Data(), Data(), Bytes());
  return copy;
}

Tensor Tensor::ConvertedTo(DataType type) const {
  CHECK(type_ != DataType::kInt32 && type != DataType::kInt32) << "integers are not converted";
  if (type == type_) return Clone();
  Tensor copy(shape_, type);
  const bool narrows = type == DataType::kBFloat16;
  auto* half = static_cast<uint16_t*>(narrows ? copy.Data() : const_cast<void*>(Data()));
  auto* full = static_cast<float*>(narrows ? const_cast<void*>(Data()) : copy.Data());
  for (int64_t i = 0; i < Elements(); ++i) {
    if (narrows) {
      half[i] = ToBFloat16(full[i]);
    } else {
      full[i] = std::bit_cast<float>(static_cast<uint32_t>(half[i]) << 16);
    }
  }
  return copy;
}

Tensor Tensor::Reshaped(Shape shape) const {
  CHECK(shape.Elements() == Elements())
      << "cannot reshape " << shape_.ToString() << " to " << shape.ToString();
  Tensor reshaped = *this;
  reshaped.shape_ = std::move(shape);
  return reshaped;
}

Tensor Tensor::Prefix(Shape shape, DataType type) const {
  Tensor prefix = *this;
  prefix.shape_ = std::move(shape);
  prefix.type_ = type;
  CHECK(prefix.Bytes() <= Bytes())
      << prefix.shape_.ToString() << " does not fit into " << shape_.ToString();
  return prefix;
}

Tensor Tensor::View(Shape shape, DataType type) {
  Tensor view;
  view.shape_ = std::move(shape);
  view.type_ = type;
  return view;
}

void Tensor::ViewInto(const Tensor& whole, int64_t first) {
  CHECK(type_ == whole.type_ && first >= 0 && first + Elements() <= whole.Elements())
      << shape_.ToString() << " at element " << first << " of " << whole.shape_.ToString();
  auto* begin = static_cast<std::byte*>(whole.buffer_.get());
  buffer_ = {whole.buffer_, begin + static_cast<size_t>(first) * SizeOf(type_)};
}

}  // namespace cosched
