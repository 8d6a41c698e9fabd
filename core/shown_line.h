#pragma once

// ShownLine: a line as a terminal shows it while its bytes come. A carriage return begins it again:
// of a progress bar what was overwritten is forgotten, so that one of hours costs no memory. Of a
// longer line than kLongest the beginning is kept. Control sequences (colours) are no text; those
// that go to the first column or erase the line do what a carriage return does.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace detol::inline core {

class ShownLine {
 public:
  static constexpr std::size_t kLongest = std::size_t{1} << 16;

  // Takes a byte; returns the line if that ends it.
  std::optional<std::string> take(char c) {
    if (c == '\n') return end();
    if (c == kEscape || !sequence_.empty()) {
      take_of_sequence(c);
      return std::nullopt;
    }
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
    sequence_.clear();
    return std::exchange(text_, {});
  }

  const std::string& text() const { return text_; }  // what it shows now

 private:
  static constexpr char kEscape = '\x1b';
  static constexpr std::size_t kLongestSequence = 32;

  // Takes a byte of ESC [ <digits and signs below @> <a letter>, or of ESC <a letter>.
  void take_of_sequence(char c) {
    sequence_ = c == kEscape ? std::string(1, c) : sequence_ + c;
    const bool is_open = sequence_.size() == 1 || sequence_ == "\x1b[" ||
                         (sequence_[1] == '[' && c >= ' ' && c < '@');
    if (is_open && sequence_.size() < kLongestSequence) return;
    const std::string_view begun = sequence_;
    if (begun == "\x1b[G" || begun == "\x1b[0G" || begun == "\x1b[1G") is_returned_ = true;
    if (begun == "\x1b[2K" || (begun == "\x1b[K" && is_returned_)) text_.clear();
    sequence_.clear();
  }

  std::string text_;
  std::string sequence_;
  bool is_returned_ = false;  // a carriage return came last
};

}  // namespace detol::inline core
