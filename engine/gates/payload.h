#pragma once
// A value of any type on its way through a pipeline, with the bytes that bounds of memory count.
// Stages agree on the types between them: tensors, chunks of reads, names of files. Moved from gate
// to gate; a copy shares the value. Not thread-safe.

#include <cstdint>
#include <memory>
#include <typeindex>
#include <typeinfo>
#include <utility>

#include "engine/base/check.h"

namespace cosched {

class Payload {
 public:
  Payload() = default;  // Nothing, of no bytes.

  // `bytes`: of memory that go with it, this object's own aside.
  template <typename T>
  static Payload Of(T value, int64_t bytes) {
    Payload payload;
    payload.value_ = std::make_shared<T>(std::move(value));
    payload.type_ = typeid(T);
    payload.bytes_ = bytes;
    return payload;
  }
  // No value, but as if it had one of so many bytes: what a simulated stage emits.
  static Payload OfBytes(int64_t bytes) {
    Payload payload;
    payload.bytes_ = bytes;
    return payload;
  }

  int64_t Bytes() const { return bytes_; }

  // REQUIRES: it holds a T.
  template <typename T>
  T& As() {
    CHECK(type_ == typeid(T)) << "a payload of " << type_.name() << ", not of " << typeid(T).name();
    return *static_cast<T*>(value_.get());
  }
  template <typename T>
  const T& As() const {
    return const_cast<Payload*>(this)->As<T>();
  }

 private:
  std::shared_ptr<void> value_;
  std::type_index type_ = typeid(void);
  int64_t bytes_ = 0;
};

}  // namespace cosched
