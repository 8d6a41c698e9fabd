#pragma once

// The private folder of a run: what its processes must agree on, as files. It lives in
// $XDG_RUNTIME_DIR or /tmp, is named detol-<pid>-<time> with mode 0700, and goes with the
// run. Its supervisor holds a lock on it: a folder that nobody locks was left behind by a killed
// one, in whatever container, and goes with the next run of the same user.

#include <filesystem>
#include <optional>
#include <string>

#include "core/result.h"
#include "scheduler/study_run.h"

namespace detol {

// The folder, of its owner: removed at the end of this object's life.
class RunFolder {
 public:
  // Makes it and writes the options into it. Errors (kStorage): path and reason.
  static Result<RunFolder> make(const RunOptions& options);

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  RunFolder() = default;

  std::filesystem::path path_;  // empty: moved from
  int lock_ = -1;
  int memory_lock_ = -1;
};

// Where the groups of a run share memory; made and removed with the folder. May not exist.
std::filesystem::path memory_of(const std::filesystem::path& folder);

Result<RunOptions> read_options(const std::filesystem::path& folder);

// What the first master of a run has decided. A restarted one takes it from here: names and
// budgets are resolved once, however often the master dies.
struct Settled {
  std::string study;
  std::string budget;  // in force
};

Result<void> write_settled(const std::filesystem::path& folder, const Settled& settled);
Result<std::optional<Settled>> read_settled(const std::filesystem::path& folder);

// Wall time goes on while a dead master is replaced. The monotonic time at which this run's study
// had used none: the first master of the run, which has used `used_s` by `now_s`, decides.
Result<double> wall_zero_s(const std::filesystem::path& folder, double used_s, double now_s);

// Where a live picture's run keeps what its processes write to stderr.
std::filesystem::path aside_in(const std::filesystem::path& folder);

// Why worker `worker` ended, in its own words: the first of its ranks to write is heard. Taken
// once; empty: it said nothing.
void leave_last_word(const std::filesystem::path& folder, int worker, const std::string& word);
std::string take_last_word(const std::filesystem::path& folder, int worker);

std::string endpoint_in(const std::filesystem::path& folder);

}  // namespace detol
