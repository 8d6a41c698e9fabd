#pragma once

// Command: candidates that a program of the user evaluates. This header has its settings in a space
// file (`command: {run: [python, train.py, --lr, "{lr}"]}`) and what stands in its arguments;
// trainer/command.h runs it.
//
// An argument may have placeholders: {lr}, the value of a parameter; {study}, {seed}, {trial.id},
// {trial.dir}, {trial.checkpoint}, {budget.epochs}, {ranks}; where the study has an architecture,
// the files {network.json}, {network.py} and {network.onnx}. {{lr}} stands for the text {lr};
// braces around anything that is no name are what they are. An argument with the placeholder of an
// inactive parameter is left out, and so is a plain option before it ("--momentum").

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace detol::inline encoding {

// PrintedMetric: a metric that the program prints.
struct PrintedMetric {
  std::string metric;
  std::string pattern;  // ECMAScript; its first group is the number
};

struct CommandConfig {
  std::vector<std::string> run;     // the program and its arguments, with placeholders
  std::vector<std::string> resume;  // more arguments where the trial has a checkpoint
  // The words before a program of several ranks, with placeholders; nullopt: those of mpiexec, or
  // in a Slurm job of srun; none: the program starts its own.
  std::optional<std::vector<std::string>> launch;
  std::string folder;  // in which it runs; empty: that of the worker
  int steps = 0;       // of a whole trial, as it reports them; 0: until it ends
  std::vector<PrintedMetric> prints = {};
  std::map<std::string, std::string> environment = {};
  std::vector<int> success = {0};    // exit codes
  std::string stop_signal = "TERM";  // a name of stop_signals()
  double grace_s = 10;               // from this signal to SIGKILL
  bool binds_cores = true;           // each worker's programs have cores of their own
};

// The epochs of a candidate whose program says when it has ended.
inline constexpr int kEndless = 1'000'000'000;

// The files of a trial's folder that say what its network is, and their placeholders.
inline constexpr std::array<std::string_view, 3> kNetworkFiles = {"network.json", "network.py",
                                                                  "network.onnx"};
inline constexpr std::string_view kOnnxFile = kNetworkFiles[2];

// The largest extent of what a network reads, and the most outputs that it has.
inline constexpr std::int64_t kMostExtent = 1 << 20;

// Returns whether an argument of the command has this placeholder.
bool has_placeholder(const CommandConfig& command, std::string_view name);

struct StopSignalRow {
  std::string_view name;
  int number;
};
std::span<const StopSignalRow> stop_signals();

// Returns the arguments with placeholders replaced by these texts; one without a text is of an
// inactive parameter. REQUIRES: check_placeholders found no mistake.
std::vector<std::string> filled_in(std::span<const std::string> arguments,
                                   const std::map<std::string, std::string, std::less<>>& texts);

// Checks the names of an argument. Errors (kInput), without a place.
Result<void> check_placeholders(std::string_view argument,
                                std::span<const std::string_view> parameters);

}  // namespace detol::inline encoding
