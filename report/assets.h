#pragma once

// The files of the page, which the build puts into the program (CMakeLists.txt). The script is the
// inside of a function: it defines take(), the panels and drawCharts(), and draws nothing.

#include <string_view>

namespace detol::inline report {

std::string_view page_html();
std::string_view page_css();
std::string_view page_js();

// The page that follows a study, and what its style and script have more.
std::string_view live_html();
std::string_view live_css();
std::string_view live_js();

// plotly.js, compressed by gzip; empty where the build did not find it.
std::string_view plotly_gz();

}  // namespace detol::inline report
