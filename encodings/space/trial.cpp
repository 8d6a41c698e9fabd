#include "encodings/space/trial.h"

#include <array>

namespace detol {
namespace {

struct CauseWord {
  Cause cause;
  std::string_view word;
};

constexpr std::array kCauses = {
    CauseWord{Cause::kDiverged, "diverged"},  CauseWord{Cause::kOutOfMemory, "oom"},
    CauseWord{Cause::kTooLarge, "too_large"}, CauseWord{Cause::kTimeout, "timeout"},
    CauseWord{Cause::kCrashed, "crashed"},    CauseWord{Cause::kInvalid, "invalid"},
};

}  // namespace

std::string_view to_text(Cause cause) {
  for (const CauseWord& row : kCauses) {
    if (row.cause == cause) return row.word;
  }
  return "crashed";
}

Cause cause_from(std::string_view word) {
  for (const CauseWord& row : kCauses) {
    if (row.word == word) return row.cause;
  }
  return Cause::kCrashed;
}

}  // namespace detol
