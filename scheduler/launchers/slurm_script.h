#pragma once

// SlurmJob: a search as a chain of batch jobs, and the script that each of them runs. Shortly
// before its time is over, a job stops the search (exit code 75) and is requeued; an heir, a second
// job that waits for the end of the first, takes over if Slurm kills it without that notice. The
// last job of the chain cancels its heir.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace detol::inline scheduler {

struct SlurmJob {
  std::string study;
  std::filesystem::path script;           // where the script will be, absolute
  std::filesystem::path log;              // absolute
  std::filesystem::path folder;           // in which the search runs
  std::vector<std::string> command;       // the search
  std::int64_t nodes = 1;                 // of each job
  std::string time = {};                  // as Slurm writes it; empty: the partition's
  std::string partition = {};             // empty: Slurm's default
  std::vector<std::string> options = {};  // more of sbatch's
};

std::string slurm_script(const SlurmJob& job);

// Writes the script and submits the job from a login node; returns its number. Slurm's library,
// whose interface changes with each release, is never linked: it runs sbatch. Errors: kStorage;
// kUsage: there is no sbatch, or it refuses the job, after it has said why on stderr.
Result<std::string> submit(const SlurmJob& job);

// Returns the seconds of a time limit as Slurm writes it ("90", "1:30:00", "2-12"); nullopt if it
// is none.
std::optional<std::int64_t> slurm_seconds(std::string_view text);

// Returns how many seconds before the end of a job its search is stopped.
std::int64_t notice_s(std::string_view time);

}  // namespace detol::inline scheduler
