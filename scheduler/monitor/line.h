#pragma once

// A line of the frame, laid out of pieces on a screen of some width. Private to this room.

#include <string>
#include <vector>

#include "core/terminal.h"

namespace detol::inline scheduler {

inline constexpr int kGap = 2;            // columns between pieces
inline constexpr int kLongestLine = 100;  // columns to which a line is stretched

enum class Style { kPlain, kStrong, kDim, kGood, kWarning };

struct Piece {
  std::string text;
  int rank = 0;  // the highest is left out first
  Style style = Style::kPlain;
  bool at_right = false;  // this piece and all after it
};

using Line = std::vector<Piece>;

// Returns the columns that the line takes.
int width_of(const Line& line);

// Returns the pieces as one line: those that do not fit are left out by rank, the last one is cut.
std::string laid_out(Line line, const Screen& screen);

// Returns the text in its colour, where the screen has colours.
std::string styled(const std::string& text, Style style, const Screen& screen);

std::string spaces(int count);  // none if negative

// Returns the text with spaces before (at_right) or behind it, `width` columns wide.
std::string padded(const std::string& text, int width, bool at_right);

}  // namespace detol::inline scheduler
