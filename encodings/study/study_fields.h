#pragma once

// The tables of fields that every space file shares. Private to this folder.

#include <span>
#include <string_view>
#include <vector>

#include "encodings/schema/schema.h"

namespace detol::inline encoding {

class StudyConfig;
enum class Inherit;

// Returns the keys of the whole file; the caller adds the encoding's keys to `architecture`.
std::span<const Field> study_fields();

// Returns the keys of a file with `function`, which trains nothing and has the function's
// parameters; the caller adds the function's keys to `function`.
std::span<const Field> function_study_fields();

// Returns the keys of a file with `table`; the caller adds the encoding's keys to `architecture`.
std::span<const Field> table_study_fields();

// Returns the keys of a file with `command`.
std::span<const Field> command_study_fields();

// Returns the keys of a file with `external`.
std::span<const Field> external_study_fields();

// Returns the keys of `architecture` that every encoding shares: type and constraints.
std::span<const Field> architecture_fields();

// Returns the value of `search.inherit`. REQUIRES: one of its words.
Inherit inherit_from(std::string_view word);

// Returns the metrics that the study's function, table or task gives, or whoever evaluates its candidates is asked for,
// without costs and constraints; valid as long as `config`.
std::vector<std::string_view> own_metrics_of(const StudyConfig& config);

}  // namespace detol::inline encoding
