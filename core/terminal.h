#pragma once

// Terminals: their size, the columns that a text takes on them, and frames, each drawn over the
// frame before.

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace detol::inline core {

// Screen: the properties of the terminal that frames are drawn on.
struct Screen {
  int columns = 80;
  int rows = 24;
  bool utf8 = false;  // else ASCII alone
  bool color = false;
};

// Returns the current size of the terminal at `fd`, 80 x 24 if it is no terminal, and whether the
// locale is UTF-8.
Screen screen_at(int fd, bool color);

// Returns true for an interactive terminal that can move its cursor: TERM is set and not dumb, CI
// is not set.
bool is_live_terminal(int fd);

// Returns whether to print colours. `word` is auto, always or never; auto means: on a terminal,
// unless NO_COLOR is set.
bool wants_color(std::string_view word, int fd);

// Returns the columns that UTF-8 text takes: two for a wide character, none for a combining one or
// for a sequence that sets a colour.
int columns_of(std::string_view text);

// Returns the text in at most `columns` columns, with an ellipsis if it was cut. Control characters
// and bytes that are not UTF-8 become '?'; without utf8 everything that is not ASCII does.
std::string fitted(std::string_view text, int columns, bool utf8);

// Painter: draws frames at one place of a terminal, one write() each, over the frame before. The
// cursor stays below the frame, so that the terminal is usable after other output or a kill at any
// instant. Not thread-safe.
class Painter {
 public:
  // Draws only while the process `owner` (0: this process) is in the terminal's foreground, not
  // while a shell is. `state_file` lets the next Painter draw over the last frame; may be empty.
  explicit Painter(int fd, pid_t owner = 0, std::filesystem::path state_file = {});

  // REQUIRES: every line is narrower than the screen, and there are fewer lines than its rows.
  void draw(const std::vector<std::string>& lines, const Screen& screen);

 private:
  bool is_in_foreground() const;
  int rows_above(const Screen& screen) const;  // rows of the last frame, as the terminal shows it

  const int fd_;
  const pid_t owner_;
  const std::filesystem::path state_file_;
  std::vector<int> widths_;  // of the lines above the cursor
  std::vector<std::string> lines_;
  Screen screen_;
};

}  // namespace detol::inline core
