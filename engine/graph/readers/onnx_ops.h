#pragma once
// The op functions of ONNX, by family; onnx_ops.cc puts their tables together. Operator
// definitions: github.com/onnx/onnx/blob/main/docs/Operators.md and Changelog.md (older versions).

#include "engine/graph/readers/op_reader.h"

namespace cosched {

OpTable OnnxWindowOps();       // Convolutions, pools, normalisation, matrix products.
OpTable OnnxElementwiseOps();  // Activations and arithmetic.
OpTable OnnxArrayOps();        // What moves elements, and the links of shape chains.

}  // namespace cosched
