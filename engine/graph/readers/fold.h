#pragma once
// Ops on constants, worked out when a file is read: the links of shape chains, and weights that a
// file slices, joins or scales before it uses them. Memory is charged before it is taken. Used by
// the op functions of both formats.

#include <string_view>
#include <vector>

#include "engine/graph/readers/op_reader.h"

namespace cosched {

// The input's value; fails where the file's only copy was put into another layout.
const Constant& Known(const OpReader& op, int input);

void FoldReshape(OpReader& op, int input, const std::vector<int64_t>& dims);
void FoldTranspose(OpReader& op, int input, const std::vector<int64_t>& order);
// The first index, the step and how many, of each dimension.
void FoldSlice(OpReader& op, int input, const std::vector<int64_t>& begins,
               const std::vector<int64_t>& steps, const std::vector<int64_t>& counts);
void FoldConcat(OpReader& op, int count, int64_t axis);
void FoldGather(OpReader& op, int input, const Constant& indices, int64_t axis);
void FoldExpand(OpReader& op, int input, const std::vector<int64_t>& dims);
void FoldFill(OpReader& op, const std::vector<int64_t>& dims, const Constant& value);

// "Add", "Sub", "Mul", "Div", "Min", "Max", "Equal", …; fails for another name. Shapes are
// broadcast; two integers divide towards 0, as in C.
void FoldBinary(OpReader& op, std::string_view name);
// "Neg", "Sqrt", "Rsqrt", "Floor", "Ceil", "Exp", "Abs".
void FoldUnary(OpReader& op, std::string_view name);
void FoldCast(OpReader& op, int input, bool to_float);

}  // namespace cosched
