#pragma once

// Returns the error of a file that detol refuses to read. Private to this folder.

#include <string>

#include "core/result.h"

namespace detol::inline exporting {

inline tl::unexpected<Error> refuse(const std::string& what) {
  return fail(ErrorCode::kInput, what);
}

}  // namespace detol::inline exporting
