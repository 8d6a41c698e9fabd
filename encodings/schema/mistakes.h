#pragma once

// Private to this folder.

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/result.h"

namespace detol::inline encoding {

// Mistakes collects the errors of a section, so that all of them are shown at once.
class Mistakes {
 public:
  // Returns the value, or null after an error.
  nlohmann::json value_or_noted(Result<nlohmann::json> result) {
    if (result) return *std::move(result);
    note(std::move(result).error());
    return {};
  }
  void note(Error error) {
    constexpr std::ptrdiff_t kMostLines = 20;
    if (!all_) {
      all_ = std::move(error);
    } else if (std::ranges::count(all_->message, '\n') < kMostLines) {
      all_->message += "\n" + error.message;
    }
  }
  // Returns `values` unless there was a mistake.
  Result<nlohmann::json> or_else(nlohmann::json values) {
    if (all_) return tl::unexpected(*std::move(all_));
    return values;
  }

 private:
  std::optional<Error> all_;
};

}  // namespace detol::inline encoding
