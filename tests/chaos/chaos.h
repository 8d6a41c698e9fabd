#pragma once

// Chaos: a small search that is disturbed, brought to its end, and held to what docs/faults.md
// promises, by comparison with the same search left in peace.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "encodings/space/trial.h"
#include "tests/e2e/tiny_study.h"

namespace detol::testing_support {

// The place where a search runs: its data, its space file, a private folder for its processes.
class ChaosStudy {
 public:
  // With so many images to train on and to validate with; the database and what belongs to it
  // go to this folder in path().
  explicit ChaosStudy(int images = 80, const std::string& storage = "");

  const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path database() const { return path() / storage_ / "detol.db"; }
  std::filesystem::path folder_of(TrialId trial) const;

  // What every process of it is told: short limits, and where to leave its traces.
  std::vector<std::string> variables() const;

  // Counts how often each process passed a site so far.
  std::map<pid_t, int> visits(std::string_view site) const;

  // Training steps so far, over all processes.
  int steps() const;

  // All that is promised to be the same, however the search was disturbed: no times.
  std::string results() const;

  // Returns the epochs whose weights are there, of searches so small that every trial's are kept.
  std::string weights() const;

 private:
  TempFolder folder_;
  const std::string storage_;
};

struct Search {
  std::string name;                // for a test's name
  std::vector<std::string> words;  // `detol search ...`
  int trainers = 1;                // processes that train at once
  int images = 80;
  bool is_repeatable = true;  // two searches come to the same numbers

  // Of one epoch of everything that trains at once, at most.
  int steps_per_epoch() const { return trainers * images * 8 / 10 / 16; }
};

// Trials one after the other, to their last epoch, proposed by a model that is fitted after the
// third.
Search one_worker(int trials = 4);
// The same, but trials pause after their first epoch, and the best are promoted later (asha).
Search pausing(int trials = 3);
// Trials one after the other, of a training that is not deterministic: its numbers depend on
// timings.
Search timing(int trials = 3);
// Trials on two workers, whose proposals do not depend on who is first.
Search two_workers(int trials = 4);
// Trials one after the other, each trained by an MPI job of two ranks.
Search group_of_two(int trials = 3);

// The results of a search that nobody disturbs.
struct Peace {
  std::string results;  // empty: not to be compared
  std::string weights;  // the same
  int steps = 0;        // of training
  int visits = 0;       // of a site by the process that passed it most often
};
Peace in_peace(const Search& search, std::string_view site = "");

// Trouble says how a disturbed search went.
struct Trouble {
  bool happened = false;            // the fault did
  std::vector<int> codes;           // of the search, and of every resume after it
  std::vector<std::string> broken;  // promises, one line each
  std::string said;                 // by all of these on stderr
};

// Runs the search with DETOL_FAULT set to `fault`, resumes it without until it is done, and
// looks at what is left.
Trouble disturbed(const Search& search, const Peace& peace, const std::string& fault);

// Returns the broken ones of the promises that hold at the end of any search, however disturbed.
// `said` is all that it printed, `redone` how many steps may have been made again.
std::vector<std::string> broken_promises(const ChaosStudy& study, const Peace& peace,
                                         const std::string& said, int redone);

// The number in an environment variable such as DETOL_CHAOS_KILLS, else `fallback`.
int number_from(const char* name, int fallback);

}  // namespace detol::testing_support
