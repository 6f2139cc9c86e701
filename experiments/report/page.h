#pragma once
// The one HTML file of a report: its data as JSON, and the script and style that show them (page/), which
// it holds itself: it needs no network and no server. Pure; called by `cosched report`.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace cosched {

// Made at build time from page/*.css and page/*.js (page_parts.cmake).
extern const std::string_view kPageStyle, kPageScript;

// data: as ReportData gives them (report_data.h). Text in them is shown as text, whatever it holds.
std::string ReportPage(const std::string& title, const nlohmann::ordered_json& data);

}  // namespace cosched
