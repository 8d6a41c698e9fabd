#pragma once

// Throughput: measures how many reports per second a master makes durable and answers.

#include <filesystem>

#include "core/result.h"

namespace detol::inline bench {

struct ThroughputSettings {
  int peers = 1;                 // workers, each with a connection and one report in flight
  int reports = 0;               // about as many in all
  std::filesystem::path folder;  // for the database and the socket; it exists
};

struct Throughput {
  double per_second = 0;  // reports by the wall clock; peers and master share this machine's cores
  double master_s = 0;    // CPU seconds of the master's thread per report
};

// Measures from the first trial's start to the end of the study. Errors: as of a search.
Result<Throughput> measure_throughput(const ThroughputSettings& settings);

}  // namespace detol::inline bench
