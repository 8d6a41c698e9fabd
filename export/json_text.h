#pragma once

// JSON of exported models. Private to this folder.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/json_text.h"
#include "core/result.h"

namespace detol::inline exporting {

// What a model's file may hold: our own documents are at most 4 deep.
constexpr JsonLimits kModelJson{.bytes = std::size_t{8} << 20, .depth = 16};

// Returns the text as valid UTF-8.
std::string as_utf8(const std::string& text);

}  // namespace detol::inline exporting
