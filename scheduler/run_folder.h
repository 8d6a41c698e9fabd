#pragma once

// The private folder of a run: what its processes must agree on, as files. It lives in
// $XDG_RUNTIME_DIR or /tmp, is named detol-<pid>-xxxxxx with mode 0700, and goes with the
// run; what a killed supervisor left behind goes with the next run of the same user.

#include <filesystem>
#include <optional>
#include <string>

#include "core/result.h"
#include "scheduler/study_run.h"

namespace detol {

// Makes the folder and writes the options into it. Errors (kStorage): path and reason.
Result<std::filesystem::path> make_run_folder(const RunOptions& options);

Result<RunOptions> read_options(const std::filesystem::path& folder);

// What the first master of a run has decided. A restarted one takes it from here: names and
// budgets are resolved once, however often the master dies.
struct Settled {
  std::string study;
  std::string budget;  // in force
};

Result<void> write_settled(const std::filesystem::path& folder, const Settled& settled);
Result<std::optional<Settled>> read_settled(const std::filesystem::path& folder);

// Where a live picture's run keeps what its processes write to stderr.
std::filesystem::path aside_in(const std::filesystem::path& folder);

// Why worker `worker` ended, in its own words: the first of its ranks to write is heard. Taken
// once; empty: it said nothing.
void leave_last_word(const std::filesystem::path& folder, int worker, const std::string& word);
std::string take_last_word(const std::filesystem::path& folder, int worker);

std::string endpoint_in(const std::filesystem::path& folder);

}  // namespace detol
