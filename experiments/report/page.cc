#include "experiments/report/page.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <system_error>

#include "engine/base/file_bytes.h"
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

std::string Base64(const std::string& bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t j = i; j < i + 3; ++j)
      three = three << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0);
    for (size_t j = 0; j < 4; ++j)
      text += i + j > bytes.size() ? '=' : kDigits[three >> (18 - 6 * j) & 63];
  }
  return text;
}

// script: what follows kPageScript. unread: what is told where scripts do not run.
std::string Page(const std::string& title, const nlohmann::ordered_json& data,
                 std::string_view script, std::string_view unread) {
  std::string page = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>";
  page += EscapedMarkup(title);
  page += "</title>\n<style>\n";
  page += kPageStyle;
  page +=
      "</style>\n</head>\n<body>\n<noscript>This page is drawn by its own script: let it run, or "
      "read ";
  page += unread;
  page += ".</noscript>\n<main id=\"report\"></main>\n";
  page += "<script type=\"application/json\" id=\"data\">";
  page += JsonInScript(data);
  page += "</script>\n<script>\n\"use strict\";\n";
  page += kPageScript;
  page += script;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace

std::string ReportPage(const std::string& title, const nlohmann::ordered_json& data) {
  return Page(title, data, kReportScript, "`cosched compare`");
}

std::string ReproductionPage(nlohmann::ordered_json data, const std::filesystem::path& folder) {
  const std::filesystem::path here = std::filesystem::absolute(folder);
  for (auto& figure : data["figures"]) {
    if (figure["picture"].is_string()) {
      const std::string bytes = FileBytes(figure["picture"].get<std::string>());
      figure["picture"] = bytes.empty()
                              ? nlohmann::ordered_json()
                              : nlohmann::ordered_json("data:image/png;base64," + Base64(bytes));
    }
    if (!figure["took"].is_object()) continue;
    std::error_code error;
    const std::filesystem::path run = figure["took"]["run"].get<std::string>();
    const std::filesystem::path relative = std::filesystem::relative(run, here, error);
    figure["took"]["link"] =
        (error || relative.empty() ? std::filesystem::absolute(run) : relative).generic_string();
  }
  return Page("cosched reproduce: published figures", data, kReproductionScript,
              "reproduce.json beside it");
}

}  // namespace cosched
