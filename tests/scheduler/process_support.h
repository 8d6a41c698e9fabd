#pragma once

// Whole runs for tests: this test program plays the supervisor in a child, the master and the
// workers in grandchildren, and trains by formula.

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "knowledge/ledger.h"
#include "scheduler/run/study_run.h"

namespace detol::testing_support {

// Workers that do not train: an epoch lasts DETOL_TEST_EPOCH_MS (default 1); a trial whose id
// is DETOL_TEST_CRASH aborts its worker in its second epoch. With DETOL_TEST_FIT_MS the searcher
// has a model (tests/search/fake_model.h), and each of its fits lasts so long.
TestHooks formula_hooks();

// A search on two workers in a folder of its own.
class WholeRun {
 public:
  explicit WholeRun(std::filesystem::path folder);
  ~WholeRun();  // kills the supervisor if it still runs

  void start();               // in a child
  std::optional<int> poll();  // its exit code, once it has ended
  int finish();               // waits for it; -1 if it takes more than a minute

  // Waits until holds() is true; returns false after 30 s.
  static bool wait_until(const std::function<bool()>& holds);

  pid_t supervisor() const { return pid_; }
  std::vector<pid_t> masters() const { return playing("__master"); }
  std::vector<pid_t> workers() const { return playing("__worker"); }
  std::vector<pid_t> ranks(int rank) const;  // of the groups
  std::vector<pid_t> launchers() const;      // of the groups
  std::vector<pid_t> everybody() const;      // below the supervisor
  std::filesystem::path socket() const;      // the master's

  std::vector<Event> events() const;  // empty if there is no study yet
  int reports() const;

  RunOptions options;
  bool ignores_hangups = false;  // as under nohup

 private:
  std::vector<pid_t> playing(const std::string& role) const;

  std::filesystem::path folder_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

// Every trial and every refit in the order in which the searcher got them.
std::string search_of(const std::vector<Event>& events);

// Every trial's end, without what depends on time and attempts.
std::string outcomes_of(const std::vector<Event>& events);

}  // namespace detol::testing_support
