#pragma once

// Terminals: how large one is, how many columns a text takes there, and a picture that is
// drawn again and again over itself.

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace detol {

// What can be drawn on.
struct Screen {
  int columns = 80;
  int rows = 24;
  bool utf8 = false;  // else ASCII alone
  bool color = false;
};

// As the terminal at `fd` is now and the locale says; 80 x 24 where there is no terminal.
Screen screen_at(int fd, bool color);

// True for a terminal that can move its cursor and has a person before it: TERM is set and
// not dumb, CI is not set.
bool is_for_pictures(int fd);

// `word` is auto, always or never. Auto: a terminal, and NO_COLOR is not set.
bool wants_color(std::string_view word, int fd);

// The columns that UTF-8 text takes: two for a wide character, none for a combining one or
// for a sequence that sets a colour.
int columns_of(std::string_view text);

// The text in at most so many columns, with an ellipsis if it was cut. Control characters
// and bytes that are not UTF-8 become '?'; without utf8 everything that is not ASCII does.
std::string fitted(std::string_view text, int columns, bool utf8);

// Draws pictures at one place of a terminal: one write() each, over the one before. The cursor
// rests below the picture, so that whoever writes next, or the end of the process at any
// instant, leaves the terminal as it should be. Not thread-safe.
class Painter {
 public:
  // Draws while the process `person` is in the terminal's foreground (0: this process), so that
  // a shell has the terminal to itself meanwhile. `memory` is a file that lets a successor draw
  // over this one's last picture; may be empty.
  explicit Painter(int fd, pid_t person = 0, std::filesystem::path memory = {});

  // REQUIRES: no line is wider than the screen less one, and there are fewer than its rows.
  void draw(const std::vector<std::string>& lines, const Screen& screen);

 private:
  bool is_in_front() const;
  int rows_above(const Screen& screen) const;  // of the last picture, as the terminal shows it

  const int fd_;
  const pid_t person_;
  const std::filesystem::path memory_;
  std::vector<int> widths_;  // of the lines above the cursor
  std::vector<std::string> lines_;
  Screen screen_;
};

}  // namespace detol
