#include "encodings/space/trial.h"

#include <algorithm>
#include <array>

namespace detol::inline encoding {
namespace {

// The words of Cause, in its order.
constexpr std::array<std::string_view, 6> kCauses = {"diverged", "oom",     "too_large",
                                                     "timeout",  "crashed", "invalid"};
static_assert(kCauses.size() == static_cast<std::size_t>(Cause::kInvalid) + 1);

}  // namespace

std::string_view to_text(Cause cause) {
  return kCauses[static_cast<std::size_t>(cause)];
}

std::optional<Cause> cause_from(std::string_view word) {
  const auto found = std::ranges::find(kCauses, word);
  if (found == kCauses.end()) return std::nullopt;
  return static_cast<Cause>(found - kCauses.begin());
}

std::optional<Cause> cause_of(const Outcome& outcome) {
  const auto* failed = std::get_if<Failed>(&outcome);
  return failed == nullptr ? std::nullopt : std::optional(failed->cause);
}

}  // namespace detol::inline encoding
