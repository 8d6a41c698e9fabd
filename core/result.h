#pragma once

// Result<T>: the value of an operation that may fail for a reason outside the
// program: a missing file, a malformed space, a locked database. The caller's
// mistakes are assertions; a candidate that diverges is an Outcome, not an error.

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace detol::inline core {

// ErrorCode: the kind of a failure, by what the user must do about it. The program's exit
// code depends on this alone (core/exit_code.h).
enum class ErrorCode {
  kInternal,     // a defect of detol
  kUsage,        // wrong words on the command line
  kInput,        // bad, missing or unreadable space file, config or data
  kStudy,        // the study is missing or already exists
  kStorage,      // unwritable, corrupt, locked or newer database, checkpoint or folder
  kEmpty,        // nothing to show
  kExport,       // an export or its verification failed
  kFailures,     // too many failures to continue
  kInterrupted,  // stopped on request; resumable
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // one line: what, where (file:line:col), what to do; of a space file, a
                        // line per mistake

  // What the message is about, for callers that treat it differently; empty or 0 if unknown.
  std::string subject = {};  // the parameter, or the path of the override (--set PATH=VALUE)
  int system_error = 0;      // errno of the system call that failed
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace detol::inline core

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot stand in parentheses.

// Returns the error of a Result<...> expression from the enclosing function.
#define DETOL_TRY(expression)                                                \
  do {                                                                       \
    if (auto detol_tried = (expression); !detol_tried) {                     \
      return tl::unexpected<::detol::Error>(std::move(detol_tried).error()); \
    }                                                                        \
  } while (false)

// Declares `variable` from a Result<T>, or returns the error: DETOL_ASSIGN(auto x, make_x());
#define DETOL_CONCAT_(a, b) a##b
#define DETOL_CONCAT(a, b) DETOL_CONCAT_(a, b)
#define DETOL_ASSIGN(variable, expression)                         \
  auto DETOL_CONCAT(detol_result_, __LINE__) = (expression);       \
  if (!DETOL_CONCAT(detol_result_, __LINE__)) {                    \
    return tl::unexpected<::detol::Error>(                         \
        std::move(DETOL_CONCAT(detol_result_, __LINE__)).error()); \
  }                                                                \
  variable = std::move(*DETOL_CONCAT(detol_result_, __LINE__))

// NOLINTEND(bugprone-macro-parentheses)
