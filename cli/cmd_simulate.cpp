#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/commands.h"
#include "cli/settings.h"
#include "core/exit_code.h"
#include "scheduler/run/preflight.h"
#include "scheduler/simulation/simulated_budgets.h"

namespace detol::inline cli {
namespace {

constexpr double kDefaultNetworkWorkPerS = 3e10;  // of one core (experiments/scheduler/RESULTS.md)
constexpr double kDefaultTableWorkPerS = 1e9;
constexpr std::int64_t kMostWorkers = 1'000'000;
constexpr int kPointsToRead = 10;  // of the series of best values, in a table
constexpr int kPoints = 200;       // elsewhere

std::optional<double> number_from(const std::string& word) {
  char* end = nullptr;
  const double number = std::strtod(word.c_str(), &end);
  const bool is_number = !word.empty() && *end == '\0' && std::isfinite(number);
  return is_number ? std::optional(number) : std::nullopt;
}

// Returns a number of at least `low`, `otherwise` if it was not given.
Result<double> number_of(const Arguments& arguments, std::string_view key, double low,
                         double otherwise) {
  if (!arguments.has(key)) return otherwise;
  const std::string word = arguments.text(key);
  const auto number = number_from(word);
  if (number && *number >= low) return *number;
  return usage_error("--{} is '{}'; it must be a number of at least {}", key, word, low);
}

Result<std::optional<SecondsRange>> trial_seconds(const Arguments& arguments) {
  if (!arguments.has("trial-seconds")) return std::nullopt;
  const std::string word = arguments.text("trial-seconds");
  const std::size_t dots = word.find("..");
  const auto low = number_from(word.substr(0, dots));
  const auto high = dots == std::string::npos ? low : number_from(word.substr(dots + 2));
  if (low && high && *low > 0 && *low <= *high) return SecondsRange{*low, *high};
  return usage_error("--trial-seconds is '{}'; it must be a range such as 30..300", word);
}

Result<PaceSettings> pace_from(const Arguments& arguments, const StudyConfig& config) {
  PaceSettings pace;
  DETOL_ASSIGN(pace.trial_s, trial_seconds(arguments));
  DETOL_ASSIGN(pace.report_every_s, number_of(arguments, "report-every", 1e-3, 0));
  const double speed = config.trains() ? kDefaultNetworkWorkPerS : kDefaultTableWorkPerS;
  DETOL_ASSIGN(pace.work_per_s, number_of(arguments, "speed", 1, speed));
  if (pace.report_every_s > 0 && !pace.trial_s)
    return usage_error("--report-every needs --trial-seconds LOW..HIGH");
  return pace;
}

// Reads the curves of --curves: a file, or else a study of the knowledge base, whose groups then
// say how fast those of the simulation are.
Result<void> read_curves_into(SimulationSettings& settings, GroupTimes& measured,
                              const Arguments& arguments) {
  const std::string from = arguments.text("curves");
  std::error_code ignored;
  settings.pace.group_speed = GroupScaling({}).speed(settings.group_size);
  if (from.empty()) return {};
  if (!std::filesystem::is_regular_file(from, ignored))
    return take_curves_of(arguments.globals.storage, from, settings, measured);
  DETOL_ASSIGN(settings.curves, read_curves(from));
  return {};
}

// Reads all settings, and what the study of --curves says of groups.
Result<SimulationSettings> settings_from(const Arguments& arguments, GroupTimes& measured) {
  SimulationSettings settings;
  DETOL_ASSIGN(settings.config, read_space(arguments));
  if (settings.config.command)
    return usage_error(
        "simulate runs no program, and so no 'command'; it takes networks, functions and tables");
  DETOL_ASSIGN(const Preflight preflight, check_study(settings.config));
  settings.budget = preflight.budget;
  settings.data = preflight.data;
  DETOL_ASSIGN(const auto workers, arguments.number("workers", 1));
  DETOL_ASSIGN(const auto ranks, arguments.number("group-size", 1));
  settings.workers = static_cast<int>(std::min(workers.value_or(1), kMostWorkers));
  settings.group_size = static_cast<int>(std::min(ranks.value_or(1), kMostWorkers));
  DETOL_ASSIGN(settings.pace, pace_from(arguments, settings.config));
  DETOL_TRY(read_curves_into(settings, measured, arguments));
  DETOL_ASSIGN(settings.losses_per_device_h, number_of(arguments, "fail", 0, 0));
  DETOL_ASSIGN(const double commit_ms, number_of(arguments, "commit-ms", 0, 1));
  settings.commit_s = commit_ms / 1e3;
  if (arguments.has("ask-ms")) {
    DETOL_ASSIGN(settings.ask_times, AskTimes::parse(arguments.text("ask-ms")));
  }
  settings.ledger = arguments.text("ledger");
  return settings;
}

// Returns the budgets to simulate: all of --budget, or that of the space file.
Result<std::vector<Budget>> budgets_from(const Arguments& arguments,
                                         const SimulationSettings& settings) {
  std::vector<Budget> budgets;
  for (const std::string& word : arguments.all("budget")) {
    DETOL_ASSIGN(const Budget budget, parse_budget(word));
    DETOL_TRY(check_units(budget, settings.config));
    budgets.push_back(budget);
  }
  if (budgets.empty()) budgets.push_back(settings.budget);
  if (budgets.size() > 1 && !settings.ledger.empty())
    return usage_error("--ledger keeps one study; give one --budget");
  return budgets;
}

Result<int> run_simulate(const Arguments& arguments) {
  GroupTimes measured;
  DETOL_ASSIGN(SimulationSettings settings, settings_from(arguments, measured));
  DETOL_ASSIGN(const std::vector<Budget> budgets, budgets_from(arguments, settings));
  if (arguments.has("save-curves") && settings.curves)
    DETOL_TRY(write_output(arguments.text("save-curves"), to_json_lines(*settings.curves)));
  const int points = arguments.globals.format == Format::kTable ? kPointsToRead : kPoints;
  DETOL_ASSIGN(const Simulated done, simulate_all(std::move(settings), measured, budgets, points));
  DETOL_TRY(done.rows.rows.size() == 1 ? show_record(done.rows, arguments.globals)
                                       : show(done.rows, arguments.globals));
  return done.has_failed ? kExitFailures : kExitDone;
}

std::string simulate_notes() {
  return "A function or a table gives each candidate its value; networks get theirs from --curves, "
         "or else\nfrom power laws that a seeded random function of the choices chooses: they say "
         "how devices are\nused, not how good networks are. Equal settings give equal searches; "
         "master_s_per_s,\ndecision_ms, ask_ms and peak_mb are measured on this machine. Each "
         "proposal\nis really made: gp and portfolio take tens of ms of a core for one, random "
         "almost none.\n";
}

}  // namespace

Command simulate_command() {
  return {
      .name = "simulate",
      .summary = "say what a search would do with many workers, in virtual time",
      .options =
          {{"--space", "FILE", "the space file, or the name of a bundled one, such as cnn",
            Option::kRequired},
           {"-j,--workers", "N", "simulated workers, each a group; default 1"},
           {"--group-size", "G", "devices of each worker; default 1"},
           {"--budget", "B", "when the study ends; several: one simulation for each",
            Option::kRepeated},
           {"--algorithm", "NAME", "the search algorithm; default: that of the space file"},
           {"--pruner", "NAME", "early stopping of weak trials; default: that of the space file"},
           {"--seed", "S",
            "the seed of every random choice; default: that of the space file, else 0"},
           {"--study", "NAME", "the study's name; default: the file's"},
           {"--data", "PATH", "where the data is; default: the file's data.path"},
           {"--set", "KEY=VALUE", "change a key of the space file", Option::kRepeated},
           {"--trial-seconds", "LOW..HIGH",
            "how long a trial of full length trains; default: as --speed or --curves say"},
           {"--report-every", "S",
            "seconds between reports; needs --trial-seconds; default: one an epoch"},
           {"--speed", "W",
            "FLOPs x images (or a table's cost) that a device does in a second; default 3e10 "
            "(1e9)"},
           {"--curves", "FILE|STUDY",
            "learning curves and times of an earlier study; default: power laws"},
           {"--save-curves", "FILE",
            "write the curves as JSON lines, for --curves; default: nowhere"},
           {"--fail", "RATE", "workers lost per device and hour; default 0"},
           {"--ask-ms", "TABLE",
            "time of a proposal by trials told, such as 0=0.5,1000=20; default: as measured"},
           {"--commit-ms", "MS", "time of a transaction; default 1"},
           {"--ledger", "FILE", "keep the simulated study in this database; default: nowhere"}},
      .examples =
          "  detol simulate --space cnn --workers 64 --budget 20gpu-h --budget 100gpu-h "
          "--algorithm random\n"
          "  detol simulate --space cnn -j 2 --budget 10min --curves fashion-cnn -f json\n"
          "  detol simulate --space levy.yaml -j 15360 --budget 1h --trial-seconds 30..300 "
          "--report-every 3",
      .run = run_simulate,
      .notes = simulate_notes};
}

}  // namespace detol::inline cli
