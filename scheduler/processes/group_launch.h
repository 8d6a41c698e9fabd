#pragma once

// GroupLaunch: how the supervisor starts a worker, and what runs beside the workers.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace detol::inline scheduler {

// Service is a program that runs beside the workers, with variables for their environment.
struct Service {
  std::vector<std::string> words;
  std::vector<std::string> environment;
  std::filesystem::path folder;  // its own
  std::filesystem::path ready;   // a file that exists once the service can be used
};

// GroupLaunch says how the ranks of a worker are started.
struct GroupLaunch {
  int ranks = 1;
  std::vector<std::string> launcher;     // the words before the program; empty: none
  std::vector<std::string> environment;  // NAME=value, for the launcher
  Service service = {};                  // runs beside the workers; without words: none

  // Returns the whole command of a worker on another machine, by its number and its start; its
  // first word is an absolute path. Null: workers are on this machine.
  std::function<std::vector<std::string>(int number, int start)> remote = nullptr;
};

}  // namespace detol::inline scheduler
