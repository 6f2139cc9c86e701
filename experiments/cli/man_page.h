#pragma once
// A command as a page of the manual, section 1, in roff with the macros of man(7), which man-db and
// mandoc read alike. Called by `cosched manuals`. Pure.

#include <string>
#include <vector>

#include "experiments/cli/command_tree.h"

namespace cosched {

// date: "2026-11-28".
std::string ManPage(const DescribedCommand& command, const std::string& version,
                    const std::string& date);
std::string ManPageName(const DescribedCommand& command);  // "cosched-trace-describe.1"

}  // namespace cosched
