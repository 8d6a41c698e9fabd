#pragma once

// The private folder of a run: what its processes must agree on, as files. It lies in the first
// usable one of $XDG_RUNTIME_DIR, $TMPDIR, /tmp and /var/tmp, and goes with the run. What a killed
// run left goes with the next run of the same user (marked_folder.h).

#include <filesystem>
#include <optional>
#include <string>

#include "core/result.h"
#include "scheduler/processes/marked_folder.h"
#include "scheduler/processes/run_options.h"

namespace detol {

// The folder, of its owner: removed at the end of this object's life.
class RunFolder {
 public:
  // Makes it and writes the options into it. Errors (kStorage): each place and its reason.
  static Result<RunFolder> make(const RunOptions& options);

  const std::filesystem::path& path() const { return folder_.path(); }

  // Where the groups of the run share memory: a folder in /dev/shm; empty: it cannot be made.
  std::filesystem::path memory() const;

 private:
  RunFolder(MarkedFolder folder, std::optional<MarkedFolder> memory);

  MarkedFolder folder_;
  std::optional<MarkedFolder> memory_;
};

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
