#pragma once

// Builds a Space from the choices that a space file describes, and resolves the names in
// each `when`. Private to this folder.

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "core/result.h"
#include "encodings/common/encoding.h"
#include "encodings/schema/schema_reader.h"
#include "encodings/space/space.h"

namespace detol::inline encoding {

// Builds the space. A name in `when` is looked up among its siblings, then in the sections around
// them, then as a full path. Where it names a fixed value of `file` instead of a choice, the
// condition is decided here: the choice exists always or never. The implied choices follow those of
// the file.
Result<Space> build_space(const std::vector<FoundDomain>& found, const nlohmann::json& file,
                          Implied implied, const YamlSource& source);

}  // namespace detol::inline encoding
