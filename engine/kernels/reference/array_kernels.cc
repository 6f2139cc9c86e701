// The naive loops of arrays.h and elementwise.h as kernels.

#include "engine/kernels/factories.h"
#include "engine/kernels/reference/arrays.h"
#include "engine/kernels/reference/elementwise.h"
#include "engine/kernels/reference/operands.h"

namespace cosched::reference {
namespace {

const Index& Ints(const KernelSpec& spec, const char* name) {
  return GetAttribute<Index>(spec.node, name);
}

// Ops of one value each: function(elements, x, y).
std::unique_ptr<Kernel> OfOne(const KernelSpec& spec,
                              void (*function)(int64_t, const float*, float*)) {
  return KernelFrom([function, elements = Produced(spec).Elements()](KernelContext& c) {
    function(elements, In(c, 0), Out(c, 0));
  });
}

// Their gradients: function(elements, dy, x or y, dx).
std::unique_ptr<Kernel> OfTwo(const KernelSpec& spec,
                              void (*function)(int64_t, const float*, const float*, float*)) {
  return KernelFrom([function, elements = Produced(spec).Elements()](KernelContext& c) {
    function(elements, In(c, 0), In(c, 1), Out(c, 0));
  });
}

std::unique_ptr<Kernel> ClipTo(const KernelSpec& spec, float least, float most) {
  return KernelFrom([=, elements = Produced(spec).Elements()](KernelContext& c) {
    Clip(elements, least, most, In(c, 0), Out(c, 0));
  });
}

std::unique_ptr<Kernel> ClipGradTo(const KernelSpec& spec, float least, float most) {
  return KernelFrom([=, elements = Produced(spec).Elements()](KernelContext& c) {
    ClipGrad(elements, least, most, In(c, 0), In(c, 1), Out(c, 0));
  });
}

template <typename Op>
std::unique_ptr<Kernel> Broadcasting(const KernelSpec& spec, Op op) {
  const Shape result = Produced(spec);
  const Shape a = WithRank(spec.inputs[0].shape, result.Rank());
  const Shape b = WithRank(spec.inputs[1].shape, result.Rank());
  return KernelFrom(
      [=](KernelContext& c) { Broadcast(a, b, result, In(c, 0), In(c, 1), op, Out(c, 0)); });
}

}  // namespace

std::unique_ptr<Kernel> MakeRelu(const KernelSpec& spec) { return OfOne(spec, Relu<float>); }
std::unique_ptr<Kernel> MakeReluGrad(const KernelSpec& spec) {
  return OfTwo(spec, ReluGrad<float>);
}
std::unique_ptr<Kernel> MakeRelu6(const KernelSpec& spec) { return ClipTo(spec, 0, 6); }
std::unique_ptr<Kernel> MakeRelu6Grad(const KernelSpec& spec) { return ClipGradTo(spec, 0, 6); }
std::unique_ptr<Kernel> MakeClipByValue(const KernelSpec& spec) {
  return ClipTo(spec, GetAttribute<float>(spec.node, "min"), GetAttribute<float>(spec.node, "max"));
}
std::unique_ptr<Kernel> MakeClipByValueGrad(const KernelSpec& spec) {
  return ClipGradTo(spec, GetAttribute<float>(spec.node, "min"),
                    GetAttribute<float>(spec.node, "max"));
}
std::unique_ptr<Kernel> MakeSigmoid(const KernelSpec& spec) { return OfOne(spec, Sigmoid<float>); }
std::unique_ptr<Kernel> MakeSigmoidGrad(const KernelSpec& spec) {
  return OfTwo(spec, SigmoidGrad<float>);
}
std::unique_ptr<Kernel> MakeHardSwish(const KernelSpec& spec) {
  return OfOne(spec, HardSwish<float>);
}
std::unique_ptr<Kernel> MakeHardSwishGrad(const KernelSpec& spec) {
  return OfTwo(spec, HardSwishGrad<float>);
}
std::unique_ptr<Kernel> MakeSqrt(const KernelSpec& spec) { return OfOne(spec, Sqrt<float>); }
std::unique_ptr<Kernel> MakeErf(const KernelSpec& spec) { return OfOne(spec, Erf<float>); }
std::unique_ptr<Kernel> MakeErfGrad(const KernelSpec& spec) { return OfTwo(spec, ErfGrad<float>); }
std::unique_ptr<Kernel> MakeGelu(const KernelSpec& spec) { return OfOne(spec, Gelu<float>); }

std::unique_ptr<Kernel> MakeAddV2(const KernelSpec& spec) {
  return Broadcasting(spec, [](float a, float b) { return a + b; });
}
std::unique_ptr<Kernel> MakeSub(const KernelSpec& spec) {
  return Broadcasting(spec, [](float a, float b) { return a - b; });
}
std::unique_ptr<Kernel> MakeMul(const KernelSpec& spec) {
  return Broadcasting(spec, [](float a, float b) { return a * b; });
}
std::unique_ptr<Kernel> MakeRealDiv(const KernelSpec& spec) {
  return Broadcasting(spec, [](float a, float b) { return a / b; });
}

std::unique_ptr<Kernel> MakeConcat(const KernelSpec& spec) {
  const auto axis = static_cast<size_t>(GetAttribute<int64_t>(spec.node, "axis"));
  return KernelFrom([axis, whole = Produced(spec)](KernelContext& c) {
    Index begin(static_cast<size_t>(whole.Rank()), 0);
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      const Shape& part = c.inputs[i]->GetShape();
      CopyInto(whole, part, begin, In(c, i), Out(c, 0));
      begin[axis] += part[static_cast<int>(axis)];
    }
  });
}

std::unique_ptr<Kernel> MakeSlice(const KernelSpec& spec) {
  return KernelFrom([whole = spec.inputs[0].shape, part = Produced(spec),
                     begin = Ints(spec, "begin")](KernelContext& c) {
    CopyFrom(whole, part, begin, In(c, 0), Out(c, 0));
  });
}

std::unique_ptr<Kernel> MakePad(const KernelSpec& spec) {
  Index begin;
  for (size_t i = 0; i < Ints(spec, "paddings").size(); i += 2)
    begin.push_back(Ints(spec, "paddings")[i]);
  return KernelFrom([begin, part = spec.inputs[0].shape, whole = Produced(spec),
                     value = GetAttribute<float>(spec.node, "value")](KernelContext& c) {
    std::fill_n(Out(c, 0), whole.Elements(), value);
    CopyInto(whole, part, begin, In(c, 0), Out(c, 0));
  });
}

std::unique_ptr<Kernel> MakeTranspose(const KernelSpec& spec) {
  return KernelFrom([input = spec.inputs[0].shape, output = Produced(spec),
                     perm = Ints(spec, "perm")](KernelContext& c) {
    Transpose(input, output, perm, In(c, 0), Out(c, 0));
  });
}

std::unique_ptr<Kernel> MakeMean(const KernelSpec& spec) {
  const Reduction p = ReadMean(spec.node, spec.inputs[0].shape);
  return KernelFrom([p](KernelContext& c) { Mean(p, In(c, 0), Out(c, 0)); });
}

std::unique_ptr<Kernel> MakeMeanGrad(const KernelSpec& spec) {
  const Reduction p = ReadMean(spec.node, Produced(spec));
  return KernelFrom([p](KernelContext& c) { MeanGrad(p, In(c, 0), Out(c, 0)); });
}

}  // namespace cosched::reference
