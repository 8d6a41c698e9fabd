#pragma once

// The front door of the library: searches over spaces, for functions and loops of your own.
// docs/library.md is its tutorial.

#include "encodings/space/space.h"
#include "encodings/space/trial.h"
#include "scheduler/asking/study.h"
#include "search/searcher.h"

namespace detol::inline scheduler {

// The version of these headers. A program that needs a newer one can say so before it is run:
//   static_assert(detol::kMajorVersion > 0 || detol::kMinorVersion >= 1);
inline constexpr int kMajorVersion = 0;
inline constexpr int kMinorVersion = 1;
inline constexpr int kPatchVersion = 0;

}  // namespace detol::inline scheduler
