#pragma once

// StudyOptions: how a study in this process searches (study.h).

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "encodings/space/space.h"
#include "encodings/space/trial.h"

namespace detol::inline scheduler {

struct StudyOptions {
  std::string name = "study";
  std::filesystem::path storage = "detol.db";
  std::vector<Objective> objectives = {minimize("value")};
  std::string algorithm = "portfolio";  // a name of searchers()
  std::map<std::string, std::string> algorithm_options = {};
  std::string pruner = "none";  // a name of pruners()
  std::map<std::string, std::string> pruner_options = {};
  int steps = 0;            // of a whole trial, which most pruners must know; 0: until it is told
  std::string budget = {};  // "200trials", "2h", "200trials,2h"; `+100trials` extends a study's
  std::uint64_t seed = 0;
  // Begin with what studies of the same database with the same choices learned.
  bool warm_start = true;
  bool retry_failed = true;  // trials that failed in earlier runs are given out again
  // Time passes by TrialContext::spend() alone: for tests of a program that searches.
  bool simulates_time = false;
  std::vector<std::vector<std::pair<std::string, Value>>> initial_trials = {};
};

}  // namespace detol::inline scheduler
