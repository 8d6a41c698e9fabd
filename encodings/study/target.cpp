#include "encodings/study/target.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace detol::inline encoding {

Result<Target> parse_target(std::string_view text) {
  const std::size_t at = text.find_first_of("<>");
  if (at != std::string_view::npos && at > 0 && text.substr(at + 1, 1) == "=") {
    Target target{.metric = std::string(text.substr(0, at)), .at_least = text[at] == '>'};
    const std::string_view number = text.substr(at + 2);
    const char* end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, target.value);
    if (error == std::errc{} && stop == end && std::isfinite(target.value)) return target;
  }
  return fail(ErrorCode::kUsage,
              fmt::format("target '{}': write METRIC>=VALUE or METRIC<=VALUE, for example "
                          "val_accuracy>=0.9",
                          text.substr(0, 80)));
}

std::string to_text(const Target& target) {
  return fmt::format("{}{}={}", target.metric, target.at_least ? '>' : '<', target.value);
}

}  // namespace detol::inline encoding
