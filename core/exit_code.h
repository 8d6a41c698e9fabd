#pragma once

// The program's exit codes. They depend on an Error's code alone.

#include <array>
#include <string_view>

#include "core/result.h"

namespace detol::inline core {

inline constexpr int kExitDone = 0;
inline constexpr int kExitInternal = 1;
inline constexpr int kExitUsage = 2;           // wrong words on the command line
inline constexpr int kExitInput = 3;           // bad, missing or unreadable space file or data
inline constexpr int kExitStudy = 4;           // the study is missing, or exists already
inline constexpr int kExitStorage = 5;         // unwritable, corrupt, locked or newer storage
inline constexpr int kExitEmpty = 6;           // nothing to show
inline constexpr int kExitExport = 7;          // an export or its verification failed
inline constexpr int kExitFailures = 8;        // too many failures to continue, or nothing but failures
inline constexpr int kExitIncomplete = 69;     // this machine lacks what a search needs
inline constexpr int kExitResumable = 75;      // stopped on request; `detol resume` continues
inline constexpr int kExitSecondSignal = 130;  // stopped at once

struct ExitCodeRow {
  int code;
  std::string_view meaning;  // for the manual
};

inline constexpr std::array kExitCodes = {
    ExitCodeRow{kExitDone, "done"},
    ExitCodeRow{kExitInternal, "internal error"},
    ExitCodeRow{kExitUsage, "wrong words on the command line"},
    ExitCodeRow{kExitInput, "a bad, missing or unreadable space file, configuration or data set"},
    ExitCodeRow{kExitStudy, "the study is missing, or exists already"},
    ExitCodeRow{kExitStorage, "the knowledge base is unwritable, corrupt, locked or newer"},
    ExitCodeRow{kExitEmpty, "there is nothing to show"},
    ExitCodeRow{kExitExport, "an export or its verification failed"},
    ExitCodeRow{kExitFailures, "too many failures: the first ten trials, or all"},
    ExitCodeRow{kExitIncomplete, "this machine lacks what detol needs"},
    ExitCodeRow{kExitResumable, "stopped on request; detol resume continues"},
    ExitCodeRow{kExitSecondSignal, "stopped at once, by a second signal"},
};

constexpr int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInternal:
      return kExitInternal;
    case ErrorCode::kUsage:
      return kExitUsage;
    case ErrorCode::kInput:
      return kExitInput;
    case ErrorCode::kStudy:
      return kExitStudy;
    case ErrorCode::kStorage:
      return kExitStorage;
    case ErrorCode::kEmpty:
      return kExitEmpty;
    case ErrorCode::kExport:
      return kExitExport;
    case ErrorCode::kFailures:
      return kExitFailures;
    case ErrorCode::kInterrupted:
      return kExitResumable;
  }
  return kExitInternal;
}

}  // namespace detol::inline core
