#include "tests/fuzz/promise.h"

#include <algorithm>

#include "core/utf8.h"

namespace detol::fuzz {

void promise(bool is_kept, const std::string& what) {
  if (!is_kept) throw BrokenPromise(what);
}

void promise_one_line(const Error& error, ErrorCode code) {
  constexpr std::size_t kLongest = 2000;
  const std::string& message = error.message;
  promise(error.code == code, "another kind of error: " + message);
  promise(!message.empty() && message.size() <= kLongest, "a message too long: " + message);
  promise(is_utf8(message), "a message that is not UTF-8: " + message);
  const bool has_control =
      std::ranges::any_of(message, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  promise(!has_control, "a message with control characters: " + message);
}

}  // namespace detol::fuzz
