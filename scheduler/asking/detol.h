#pragma once

// The front door of the library: searches over spaces, for functions and loops of your own.
// docs/library.md is its tutorial.

#include "encodings/space/space.h"
#include "encodings/space/trial.h"
#include "scheduler/asking/study.h"
#include "search/searcher.h"
