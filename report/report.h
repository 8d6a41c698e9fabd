#pragma once

// A study as one HTML file that needs no network and no other file: report/page/ drawn with the
// numbers of model_of(). Pure functions.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/result.h"
#include "report/source.h"

namespace detol::inline report {

// Returns the numbers and texts of every panel; what a study does not have is null, and `why` of
// its panel says so in a sentence. Lists over trials are columns of equal length.
nlohmann::ordered_json model_of(const ReportSource& source);

// Returns the page of a model. All that a person wrote stands in one JSON text without `<`, `>` and
// `&`, so that none of it can be markup. Errors (kExport): the program was built without plotly.js.
Result<std::string> page_of(const nlohmann::ordered_json& model, std::string_view title);

}  // namespace detol::inline report
