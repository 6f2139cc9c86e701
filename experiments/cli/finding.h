#pragma once
// What `cosched doctor` has found, of this machine or of a program, and how it is told. Called by
// the doctor's commands on one thread.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace cosched {

enum class Severity {
  kGood,     // As it should be.
  kLesser,   // Runs, but measures or computes less or less well.
  kMissing,  // It can't be done.
};

struct Finding {
  Severity severity = Severity::kGood;
  std::string what = {};
  std::string found = {};
  std::string consequence = {};  // Of what is not good.
  std::string remedy = {};
};

// "note     memory         1.2 GiB available", and below it what follows.
std::string FindingsText(const std::vector<Finding>& findings);
// As experiments/schemas/doctor.schema.json has them.
nlohmann::ordered_json FindingsJson(const std::vector<Finding>& findings);

}  // namespace cosched
