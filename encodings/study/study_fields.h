#pragma once

// The tables of fields that every space file shares. Private to this folder.

#include <span>
#include <string_view>

#include "encodings/schema/schema.h"

namespace detol::inline encoding {

// The keys of the whole file; `architecture` has those of no encoding yet.
std::span<const Field> study_fields();

// The keys of a file with `function`, which has those of no function yet: there is nothing to
// train, and its parameters are the function's own.
std::span<const Field> function_study_fields();

// The keys of a file with `table`; `architecture` has those of no encoding yet.
std::span<const Field> table_study_fields();

// The keys of `architecture` that every encoding shares: type and constraints.
std::span<const Field> architecture_fields();

}  // namespace detol::inline encoding
