#include "cli/run_options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "cli/settings.h"
#include "core/table.h"
#include "core/terminal.h"
#include "encodings/study/study_config.h"

namespace detol::inline cli {
namespace {

constexpr int kMost = 4096;  // processes of one machine

Result<void> at_most_processes(std::string_view option, std::int64_t count) {
  if (count <= kMost) return {};
  return usage_error("{} is {}; it must be at most {}", option, count, kMost);
}

Launcher launcher_from(const Arguments& arguments) {
  const std::string word = arguments.text("launcher", "auto");
  if (word == "local") return Launcher::kLocal;
  if (word == "slurm") return Launcher::kSlurm;
  if (word == "ssh") return Launcher::kSsh;
  return word == "mpi" ? Launcher::kMpi : Launcher::kAuto;
}

Result<ProgressMode> progress_from(const Arguments& arguments) {
  constexpr std::array<std::string_view, 5> kModes = {"auto", "live", "plain", "events", "none"};
  const char* variable = std::getenv("DETOL_PROGRESS");  // NOLINT(concurrency-mt-unsafe)
  const std::string word = arguments.text("progress", variable != nullptr ? variable : "auto");
  if (std::ranges::find(kModes, word) == kModes.end())
    return fail(ErrorCode::kUsage, "DETOL_PROGRESS: " + unknown_name("value", word, kModes));
  if (arguments.globals.quiet || word == "none") return ProgressMode::kNone;
  if (word == "events") return ProgressMode::kEvents;
  const bool is_live = word == "live" || (word == "auto" && is_live_terminal(STDERR_FILENO));
  return is_live ? ProgressMode::kLive : ProgressMode::kPlain;
}

}  // namespace

Result<int> ranks_from(const Arguments& arguments) {
  const std::string word = arguments.text("group-size", "auto");
  if (word == "auto") return 0;
  DETOL_ASSIGN(const auto ranks, arguments.number("group-size", 1));
  DETOL_TRY(at_most_processes("group-size", *ranks));
  return static_cast<int>(*ranks);
}

Result<int> workers_from(const Arguments& arguments) {
  if (!arguments.has("workers")) return 0;
  if (arguments.text("workers") == "auto") return kAutoWorkers;
  DETOL_ASSIGN(const auto workers, arguments.number("workers", 0));
  DETOL_TRY(at_most_processes("workers", *workers));
  return *workers == 0 ? kNoWorkers : static_cast<int>(*workers);
}

std::vector<Option> with_run_options(std::vector<Option> own) {
  const std::vector<Option> shared = {
      {"-j,--workers", "N|auto",
       "workers, each a group of processes; auto: as many as the cores have room for; 0: only "
       "those that join (detol worker) train; default: that of the space file, else auto"},
      {"--group-size", "G|auto",
       "processes that train one trial together; auto: 1, or what measured times advise where "
       "training.deterministic is false; default: that of the space file, else auto"},
      one_of("--device", "DEVICE",
             "what trains; auto: what a resumed study began with, else GPUs if there are any; "
             "default: auto",
             {"auto", "cpu", "cuda"}),
      one_of("--launcher", "NAME",
             "what starts the workers: this program, the mpirun that started it, srun in a Slurm "
             "job, or ssh; default: mpirun if there is one, else this program",
             {"local", "mpi", "slurm", "ssh"}),
      {"--hosts", "A,B:N",
       "for --launcher ssh: where workers are started, N of them on one host; default: none; N: 1"},
      {"--ssh", "PROGRAM", "for --launcher ssh: started as PROGRAM HOST WORD...; default: ssh"},
      one_of("--listen", "WHERE",
             "from where workers may join: from this machine, or from every one that sees the "
             "storage; default: loopback",
             {"loopback", "network"}),
      {"--target", "METRIC>=V",
       "end the study when a trial gets there (or METRIC<=V); default: none"},
      one_of("--progress", "MODE",
             "on stderr; auto: a live view on a terminal, else plain: a line every ten seconds; "
             "events: one for each; default: $DETOL_PROGRESS, else auto",
             {"auto", "live", "plain", "events", "none"}),
  };
  own.insert(own.end(), shared.begin(), shared.end());
  return own;
}

Result<RunOptions> run_options_from(const Arguments& arguments) {
  RunOptions options;
  DETOL_ASSIGN(options.workers, workers_from(arguments));
  DETOL_ASSIGN(options.group_size, ranks_from(arguments));
  DETOL_TRY(at_most_processes("workers x group-size",
                              std::int64_t{std::max(1, options.workers)} * options.group_size));
  if (arguments.has("target")) {
    DETOL_ASSIGN(options.target, parse_target(arguments.text("target")));
  }
  options.launcher = launcher_from(arguments);
  if (arguments.has("hosts") && options.launcher != Launcher::kSsh)
    return usage_error("hosts is for --launcher ssh; add that");
  std::istringstream hosts(arguments.text("hosts"));
  for (std::string host; std::getline(hosts, host, ',');) options.hosts.push_back(host);
  options.ssh = arguments.text("ssh");
  options.listens_to_network = arguments.text("listen") == "network";
  options.storage = arguments.globals.storage;
  DETOL_TRY(check_path("--storage", std::filesystem::absolute(options.storage).string()));
  options.log = arguments.globals.log;
  DETOL_ASSIGN(options.progress, progress_from(arguments));
  options.color = wants_color(arguments.text("color", "auto"), STDERR_FILENO);
  return options;
}

Result<void> check_target(const RunOptions& options) {
  if (!options.target) return {};
  const std::vector<std::string_view> known = metric_names(options.config);
  if (std::ranges::find(known, options.target->metric) != known.end()) return {};
  return fail(ErrorCode::kUsage,
              "--target: " + unknown_name("metric", options.target->metric, known));
}

}  // namespace detol::inline cli
