#pragma once
// HTML files that need nothing beside them: data as JSON, and the script and style that show them
// (page/), which each holds itself; no network and no server. Called by `cosched report` and `cosched
// reproduce`.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace cosched {

// Made at build time from page/*.css and page/*.js (page_parts.cmake): the script that all pages begin
// with, and what each goes on with.
extern const std::string_view kPageStyle, kPageScript, kReportScript, kReproductionScript;

// data: as ReportData gives them (report_data.h). Text in them is shown as text, whatever it holds. Pure.
std::string ReportPage(const std::string& title, const nlohmann::ordered_json& data);

// Every published figure of a results folder, with its claims and its picture. data: as
// experiments/schemas/reproduce.schema.json says. folder: of the page, from which links lead; pictures
// are read, and one that can't be is left out.
std::string ReproductionPage(nlohmann::ordered_json data, const std::filesystem::path& folder);

}  // namespace cosched
