#pragma once

// Tables of candidates and their losses for `transfer`: read from a file, or drawn at random.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/rng.h"
#include "encodings/space/space.h"

namespace detol {

struct Table {
  Space space;
  std::vector<Genome> candidates = {};
  std::vector<std::string> tasks = {};
  std::vector<std::vector<double>> losses = {};  // by task and candidate
};

// TableFile: which columns of a CSV file with a header are what; see transfer.cpp.
struct TableFile {
  std::string path;
  std::vector<std::string> inputs, tasks;
  bool maximise = false, grid = false, graph = false;
};

// Ends the program with status 2 and the message.
[[noreturn]] void quit(const std::string& message);

std::vector<std::string> split(const std::string& text, char by);

// Ends the program where the file cannot be read.
Table read_table(const TableFile& file);

// Returns eight related tasks of 600 candidates: a common function, an own one of half its size
// and a little noise, over four numbers and two categories, in units that differ.
Table synthetic_table(std::uint64_t seed, bool is_continuous);

// Waves: a smooth random function of the unit cube, of variance about 1.
class Waves {
 public:
  Waves(std::size_t dimensions, Rng rng);
  double operator()(std::span<const double> x) const;

 private:
  struct Wave {
    double phase;
    std::vector<double> frequencies;
  };
  std::vector<Wave> waves_;
};

// Returns the place of a candidate for Waves: numbers' positions, a column for each category.
std::vector<double> place_of(const Space& space, const Genome& genome);

}  // namespace detol
