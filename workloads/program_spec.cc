#include "workloads/program_spec.h"

#include "engine/kernels/kernel.h"

namespace cosched {

std::string_view ToString(Mode mode) { return mode == Mode::kTrain ? "train" : "infer"; }

bool ParseMode(std::string_view text, Mode* result) {
  for (Mode mode : {Mode::kTrain, Mode::kInfer}) {
    if (text != ToString(mode)) continue;
    *result = mode;
    return true;
  }
  return false;
}

std::string_view ToString(Precision precision) {
  return precision == Precision::kFloat ? "f32" : "bf16";
}

bool ParsePrecision(std::string_view text, Precision* result) {
  for (Precision precision : {Precision::kFloat, Precision::kBFloat16}) {
    if (text != ToString(precision)) continue;
    *result = precision;
    return true;
  }
  return false;
}

std::string PrecisionProblem(Precision precision) {
  if (precision == Precision::kFloat || CpuHasBFloat16()) return "";
  return "is \"bf16\", but this CPU has no instructions for it (AVX-512 BF16)";
}

SessionOptions SessionOf(const ProgramSpec& program, SessionOptions session) {
  session.deterministic = program.deterministic;
  session.rates = program.rates;
  session.waiting.spin = program.spin;
  return session;
}

}  // namespace cosched
