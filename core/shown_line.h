#pragma once

// ShownLine: a line as a terminal shows it while its bytes come. A carriage return begins it again:
// of a progress bar what was overwritten is forgotten, so that one of hours costs no memory. Of a
// longer line than kLongest the beginning is kept.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace detol::inline core {

class ShownLine {
 public:
  static constexpr std::size_t kLongest = std::size_t{1} << 16;

  // Takes a byte; returns the line if that ends it.
  std::optional<std::string> take(char c) {
    if (c == '\n') return end();
    if (c == '\r') {
      is_returned_ = true;
      return std::nullopt;
    }
    if (std::exchange(is_returned_, false)) text_.clear();
    if (text_.size() < kLongest) text_ += c;
    return std::nullopt;
  }

  // Ends the line without a newline.
  std::string end() {
    is_returned_ = false;
    return std::exchange(text_, {});
  }

  const std::string& text() const { return text_; }  // what it shows now

 private:
  std::string text_;
  bool is_returned_ = false;  // a carriage return came last
};

}  // namespace detol::inline core
