#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "report/assets.h"
#include "report/base64.h"
#include "report/report.h"

namespace detol::inline report {
namespace {

using Model = nlohmann::ordered_json;

// Returns text for between two tags of HTML.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// Returns the JSON as text that no parser of HTML takes for a tag.
std::string json_for_html(const Model& model) {
  const std::string plain = compact(model);
  std::string text;
  text.reserve(plain.size() + plain.size() / 16);
  for (const char c : plain) {
    if (c == '<' || c == '>' || c == '&')
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      text += c;
  }
  return text;
}

// Appends `page` with each {{name}} replaced. REQUIRES: every name has a text.
std::string filled(std::string_view page,
                   const std::vector<std::pair<std::string_view, std::string_view>>& texts) {
  std::string out;
  for (std::size_t open = page.find("{{"); open != page.npos; open = page.find("{{")) {
    const std::size_t close = page.find("}}", open);
    const std::string_view name = page.substr(open + 2, close - open - 2);
    out += page.substr(0, open);
    for (const auto& [known, text] : texts)
      if (known == name) out += text;
    page.remove_prefix(close + 2);
  }
  return out.append(page);
}

}  // namespace

Result<std::string> page_of(const nlohmann::ordered_json& model, std::string_view title) {
  if (plotly_gz().empty())
    return fail(
        ErrorCode::kExport,
        "this detol was built without plotly.js, which draws the charts of a report; install "
        "it (Debian: python3-plotly) and build again");
  return filled(page_html(), {{"title", escaped(title)},
                              {"css", page_css()},
                              {"data", json_for_html(model)},
                              {"plotly", base64(plotly_gz())},
                              {"js", page_js()}});
}

}  // namespace detol::inline report
