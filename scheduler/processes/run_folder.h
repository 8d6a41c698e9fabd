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

namespace detol::inline scheduler {

// The folder, of its owner: removed at the end of this object's life.
class RunFolder {
 public:
  // Makes it and writes the options into it. Errors (kStorage): each place and its reason.
  static Result<RunFolder> make(const RunOptions& options);

  const std::filesystem::path& path() const { return folder_.path(); }

  // Returns the folder in /dev/shm where groups of the run share memory; empty: there is none.
  std::filesystem::path memory() const;

 private:
  RunFolder(MarkedFolder folder, std::optional<MarkedFolder> memory);

  MarkedFolder folder_;
  std::optional<MarkedFolder> memory_;
};

Result<RunOptions> read_options(const std::filesystem::path& folder);

// ResolvedRun holds the name and the budget that the first master of a run has decided on. A
// restarted master reads them here: they are resolved once, however often the master dies.
struct ResolvedRun {
  std::string study;
  std::string budget;  // in force
};

Result<void> write_resolved_run(const std::filesystem::path& folder, const ResolvedRun& resolved);
Result<std::optional<ResolvedRun>> read_resolved_run(const std::filesystem::path& folder);

// Returns the monotonic time at which this run's study had used no wall time, which is counted
// while a dead master is replaced: the first master of the run, which has used `used_s` by `now_s`,
// decides.
Result<double> wall_zero_s(const std::filesystem::path& folder, double used_s, double now_s);

// Returns the file to which the processes of a run with a live view write their stderr.
std::filesystem::path aside_in(const std::filesystem::path& folder);

// The exit reason of worker `worker`: the first of its ranks to write one is heard.
// take_exit_reason also removes it; empty: there is none.
void write_exit_reason(const std::filesystem::path& folder, int worker, const std::string& reason);
std::string take_exit_reason(const std::filesystem::path& folder, int worker);

std::string endpoint_in(const std::filesystem::path& folder);

}  // namespace detol::inline scheduler
