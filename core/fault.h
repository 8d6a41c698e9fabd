#pragma once

// Fault injection: breaks the program at one visit of one named site, so that tests can show that
// nothing is lost there. Compiled into every build and inert unless DETOL_FAULT is set:
//
//   DETOL_FAULT="checkpoint.write:3:kill"     site : nth visit of a process : action
//   DETOL_FAULT_MARK=FILE                     created when the fault happens, contains the pid;
//                                             once it exists, no other visit of any process has
//                                             a fault
//   DETOL_FAULT_TRACE=FILE                    gets a line for every visit: pid, site
//   DETOL_TEST_PATIENCE=0.05                  factor for every time limit of a watchdog
//
// See docs/faults.md. Costs one load and one comparison while it is inert. Thread-safe.

#include <span>
#include <string_view>

#include "core/result.h"

namespace detol::inline core {

enum class Fault {
  kNone,
  kNoSpace,  // enospc, eio: the operation at the site fails with this error
  kIoError,
  kThrow,    // the site throws std::runtime_error
  kNan,      // the number that the site computes is NaN
  kCorrupt,  // the bytes that the site writes are damaged
};

struct FaultSite {
  std::string_view name;     // "checkpoint.write"
  std::string_view summary;  // what is about to happen there
  std::string_view actions;  // "kill exit hang enospc eio": those it accepts
};

// Returns every site of the program.
std::span<const FaultSite> fault_sites();

// Counts a visit and returns the fault to simulate there; the actions kill, exit and hang happen
// inside. REQUIRES: `site` is a name of fault_sites().
Fault fault(std::string_view site);

// Calls fault() and throws std::runtime_error for kThrow, for sites that can fail in no other way.
void fault_or_throw(std::string_view site);

// Returns the errno of kNoSpace and kIoError, else 0.
int errno_of(Fault fault);

// Returns the time limit of a watchdog: `limit_s`, or less in a test that set DETOL_TEST_PATIENCE.
double patience(double limit_s);

// Errors (kUsage): DETOL_FAULT is not understood, with the known sites or actions; or
// DETOL_TEST_PATIENCE is no number above 0 and at most 1.
Result<void> check_fault_setting();

}  // namespace detol::inline core
