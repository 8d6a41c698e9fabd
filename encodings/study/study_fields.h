#pragma once

// The tables of fields that every space file shares. Private to this folder.

#include <span>
#include <string_view>
#include <vector>

#include "encodings/schema/schema.h"

namespace detol::inline encoding {

class StudyConfig;
struct EncodingRow;
struct FunctionRow;
enum class Inherit;

// StudyKind: what evaluates the candidates of a study, and so which keys its file has.
struct StudyKind {
  std::string_view section;  // its presence tells the kind
  // Of the whole file; `architecture` lacks the keys of its encoding, `function` those of its name.
  std::span<const Field> fields;
  bool needs_choices = false;  // `parameters`, an architecture, or both
};

// Returns the kinds in the order in which a file is looked through for their sections; the last,
// of studies that train, has a file without any.
std::span<const StudyKind> study_kinds();

// Returns the keys of `architecture`: those of every encoding, then those of this one, if any.
std::vector<Field> architecture_fields(const EncodingRow* encoding);

// Returns the keys of `function`: its name, then the settings of this one, if any. `names`: of all
// functions.
std::vector<Field> function_fields(const FunctionRow* function,
                                   std::span<const std::string_view> names);

// Returns the value of `search.inherit`. REQUIRES: one of its words.
Inherit inherit_from(std::string_view word);

// Returns the metrics that the study's function, table or task gives, or whoever evaluates its
// candidates is asked for, without costs and constraints; valid as long as `config`.
std::vector<std::string_view> own_metrics_of(const StudyConfig& config);

}  // namespace detol::inline encoding
