#pragma once

// The files of the page, which the build puts into the program (CMakeLists.txt). Private to this
// room.

#include <string_view>

namespace detol::inline report {

std::string_view page_html();
std::string_view page_css();
std::string_view page_js();

// plotly.js, compressed by gzip; empty where the build did not find it.
std::string_view plotly_gz();

}  // namespace detol::inline report
