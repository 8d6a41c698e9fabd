#pragma once

// GroupLaunch: how the supervisor starts a worker, and what runs beside the workers.

#include <filesystem>
#include <string>
#include <vector>

namespace detol::inline scheduler {

// A program that runs as long as the workers, and what they must know of it.
struct Service {
  std::vector<std::string> words;
  std::vector<std::string> environment;
  std::filesystem::path folder;  // of its own
  std::filesystem::path ready;   // is there once it can be used
};

// GroupLaunch says how the ranks of a worker are started.
struct GroupLaunch {
  int ranks = 1;
  std::vector<std::string> launcher;     // what comes before the program; empty: the program itself
  std::vector<std::string> environment;  // NAME=value, for the launcher
  Service service = {};                  // beside the workers; no words: none
};

}  // namespace detol::inline scheduler
