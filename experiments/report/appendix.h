#pragma once
// An artifact appendix in Markdown: what is needed, how to install and run it, and for each published
// figure its claims, the command, the expected result, time, disk and cores. Pure; called by `cosched
// reproduce --appendix`.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cosched {

// whole, quick: the same figures without and with --quick, as experiments/schemas/reproduce.schema.json
// says. Results of figures that ran whole are told beside what is expected.
std::string ArtifactAppendix(const nlohmann::ordered_json& whole,
                             const nlohmann::ordered_json& quick);

}  // namespace cosched
