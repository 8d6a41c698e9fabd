#pragma once

// The private folder of a run: files with what its processes must agree on. It lies in the first
// usable one of $XDG_RUNTIME_DIR, $TMPDIR, /tmp and /var/tmp, and is removed at the end of the run.
// If the run is killed, the next run of the same user removes it (marked_folder.h).

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "scheduler/processes/marked_folder.h"
#include "scheduler/processes/run_options.h"
#include "scheduler/study_opening.h"

namespace detol::inline scheduler {

// RunFolder owns the folder and removes it when it is destroyed.
class RunFolder {
 public:
  // Makes it and writes the options into it. Errors (kStorage): each place and its reason.
  static Result<RunFolder> make(const RunOptions& options);

  // Makes it with this text as its file `name` instead. Errors (kStorage): as make().
  static Result<RunFolder> make_with(const std::string& name, const std::string& text);

  const std::filesystem::path& path() const { return folder_.path(); }

  // Returns the folder in /dev/shm where groups of the run share memory; empty: there is none.
  std::filesystem::path memory() const;

 private:
  RunFolder(MarkedFolder folder, std::optional<MarkedFolder> memory);

  MarkedFolder folder_;
  std::optional<MarkedFolder> memory_;
};

Result<RunOptions> read_options(const std::filesystem::path& folder);

// What the first master of a run has decided on: a restarted one reads it here, so that it is
// resolved once, however often the master dies.
Result<void> write_resolved_run(const std::filesystem::path& folder, const ResolvedStudy& resolved);
Result<std::optional<ResolvedStudy>> read_resolved_run(const std::filesystem::path& folder);

// Returns the monotonic time at which this run's study had used no wall time. The first master of
// the run, whose study has used `used_s` by `now_s`, writes it down; later ones read it, so that
// the time between two masters counts as used.
Result<double> wall_zero_s(const std::filesystem::path& folder, double used_s, double now_s);

// Returns the file by which the processes of a run share their clock (core/shared_clock.h).
std::filesystem::path suspension_file_in(const std::filesystem::path& folder);

// Returns the file to which the processes of a run with a live view write their stderr.
std::filesystem::path stderr_file_in(const std::filesystem::path& folder);

// Writes the exit reason of a worker; only the first one that its ranks write is kept.
// take_exit_reason() returns and removes it; empty if there is none.
void write_exit_reason(const std::filesystem::path& folder, int worker, const std::string& reason);
std::string take_exit_reason(const std::filesystem::path& folder, int worker);

// The ids of the workers that have joined the run's masters; read_joined() returns none if there is
// no such file. Errors (kStorage).
Result<void> write_joined(const std::filesystem::path& folder, const std::vector<std::string>& ids);
std::vector<std::string> read_joined(const std::filesystem::path& folder);

std::string endpoint_in(const std::filesystem::path& folder);

}  // namespace detol::inline scheduler
