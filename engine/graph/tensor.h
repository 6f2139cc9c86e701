#pragma once
// A dense tensor: shape, element type and a shared, 64-byte aligned buffer, or part of one. Copying
// shares the buffer; Clone() copies it. Not synchronised: the executor orders writers before
// readers. Images are NHWC, convolution filters HWIO, as in TF.

#include <memory>
#include <span>

#include "engine/graph/shape.h"

namespace cosched {

enum class DataType { kFloat, kInt32, kBFloat16 };
size_t SizeOf(DataType type);
const char* NameOf(DataType type);  // TF's: "float", "int32", "bfloat16".

class Tensor {
 public:
  Tensor() = default;                                              // Empty: no buffer.
  explicit Tensor(Shape shape, DataType type = DataType::kFloat);  // Uninitialised memory.
  static Tensor Scalar(float value);
  static Tensor Of(Shape shape, std::span<const float> values);
  static Tensor Of(Shape shape, std::span<const int32_t> values);

  bool IsEmpty() const { return buffer_ == nullptr; }
  const Shape& GetShape() const { return shape_; }
  DataType Type() const { return type_; }
  int64_t Elements() const { return shape_.Elements(); }
  size_t Bytes() const;

  float* Floats();  // REQUIRES: Type() == kFloat.
  const float* Floats() const;
  int32_t* Ints();  // REQUIRES: Type() == kInt32.
  const int32_t* Ints() const;
  void* Data() { return buffer_.get(); }
  const void* Data() const { return buffer_.get(); }

  Tensor Clone() const;
  // A copy with the same values, rounded to even where they become bfloat16. REQUIRES: both types
  // are kFloat or kBFloat16.
  Tensor ConvertedTo(DataType type) const;
  // Both share the buffer.
  Tensor Reshaped(Shape shape) const;               // REQUIRES: equal element counts.
  Tensor Prefix(Shape shape, DataType type) const;  // REQUIRES: fits into the buffer.

  // A tensor without a buffer, until ViewInto: then it is that part of another one, from element
  // `first` on, and shares its buffer. ViewInto allocates nothing. REQUIRES: equal types; the part
  // fits into the other's elements.
  static Tensor View(Shape shape, DataType type);
  void ViewInto(const Tensor& whole, int64_t first);

 private:
  Shape shape_;
  DataType type_ = DataType::kFloat;
  std::shared_ptr<void> buffer_;
};

}  // namespace cosched
