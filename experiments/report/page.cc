#include "experiments/report/page.h"

#include <nlohmann/json.hpp>

#include "experiments/analysis/markup.h"

namespace cosched {
namespace {

// Inside <script> nothing is escaped, and "</script" and "<!--" would end or change it.
std::string JsonInScript(const nlohmann::ordered_json& data) {
  const std::string text =
      data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string ReportPage(const std::string& title, const nlohmann::ordered_json& data) {
  std::string page = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>";
  page += EscapedMarkup(title);
  page += "</title>\n<style>\n";
  page += kPageStyle;
  page +=
      "</style>\n</head>\n<body>\n<noscript>This report is drawn by its own script: let it run, "
      "or read `cosched compare`.</noscript>\n<main id=\"report\"></main>\n";
  page += "<script type=\"application/json\" id=\"data\">";
  page += JsonInScript(data);
  page += "</script>\n<script>\n\"use strict\";\n";
  page += kPageScript;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace cosched
