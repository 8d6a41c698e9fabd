#pragma once

// What the benchmarks of the command line share. Safe from any thread.

#include <string>
#include <string_view>
#include <vector>

#include "trainer/bench.h"

namespace detol {

double cpu_s();  // CPU time of this thread: neighbours do not count, but for caches and memory

// The median of samples, of which there is at least one.
Figure median_figure(std::string name, std::string_view unit, std::vector<double> samples);

}  // namespace detol
