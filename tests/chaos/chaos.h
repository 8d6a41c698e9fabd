#pragma once

// Chaos tests disturb a small search, resume it until it is done, and check what docs/faults.md
// promises by comparison with the same search left undisturbed.

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
  // `images` counts those to train on and to validate with. The database and its artefacts are in
  // the folder `storage` in path().
  explicit ChaosStudy(int images = 80, const std::string& storage = "");

  const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path database() const { return path() / storage_ / "detol.db"; }
  std::filesystem::path folder_of(TrialId trial) const;

  // Returns the environment of its processes: short time limits, the file of the fault trace.
  std::vector<std::string> variables() const;

  // Counts how often each process passed a site so far.
  std::map<pid_t, int> visits(std::string_view site) const;

  // Training steps so far, over all processes.
  int steps() const;

  // Returns every process that was started for it and lives, by its environment.
  std::vector<pid_t> processes() const;

  // Returns everything that must be the same, however the search was disturbed: no times.
  std::string results() const;

  // Returns the epoch of each trial's weights; empty if a search is too large to keep all of them.
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
  bool is_joined = false;     // its workers come by `detol worker --join`
  bool runs_programs = false;
  std::vector<std::string> resume = {"resume", "tiny"};

  // Returns the most steps that are made again after one loss, over all processes that train at
  // once: those of a trial, whose three epochs take less than the 2 s between checkpoints; of a
  // program, which writes a checkpoint after each step, that one.
  int steps_to_redo() const { return trainers * (runs_programs ? 1 : 3 * (images * 8 / 10 / 16)); }
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
// The trials of two_workers(), on workers that join.
Search joined(int trials = 4);
// Trials of a program that reports four steps, on two workers.
Search tune(int trials = 4);

// Baseline holds the results of an undisturbed search.
struct Baseline {
  std::string results;  // empty: not to be compared
  std::string weights;  // the same
  int steps = 0;        // of training
  int visits = 0;       // of a site by the process that passed it most often
};
Baseline run_undisturbed(const Search& search, std::string_view site = "");

// DisturbedRun says how a disturbed search went.
struct DisturbedRun {
  bool happened = false;            // the fault occurred
  std::vector<int> codes;           // of the search, and of every resume after it
  std::vector<std::string> broken;  // promises, one line each
  std::string err;                  // stderr of all of these
};

// Runs the search with DETOL_FAULT set to `fault`, resumes it without a fault until it is
// done, and checks what is left.
DisturbedRun run_disturbed(const Search& search, const Baseline& baseline,
                           const std::string& fault);

// Returns whether no process of the study is left after two seconds.
bool is_alone(const ChaosStudy& study);

// Returns the promises that do not hold at the end of a search, one line each. `err` is its
// stderr, `redone` the number of steps that may have been made again.
std::vector<std::string> broken_promises(const ChaosStudy& study, const Baseline& baseline,
                                         const std::string& err, int redone);

// The number in an environment variable such as DETOL_CHAOS_KILLS, else `fallback`.
int number_from(const char* name, int fallback);

}  // namespace detol::testing_support
