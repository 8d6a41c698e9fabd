// `simulate` runs the real driver, searcher and pruner in virtual time against simulated workers,
// and says what a search would have done with so many of them.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/settings.h"
#include "core/exit_code.h"
#include "core/file.h"
#include "core/json_text.h"
#include "core/log.h"
#include "knowledge/query.h"
#include "printing/output.h"
#include "scheduler/run/group_size.h"
#include "scheduler/run/preflight.h"
#include "scheduler/simulation/simulation.h"

namespace detol::inline cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kHourS = 3600;
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
  return fail(ErrorCode::kUsage,
              fmt::format("--{} is '{}'; it must be a number of at least {}", key, word, low));
}

Result<std::optional<SecondsRange>> trial_seconds(const Arguments& arguments) {
  if (!arguments.has("trial-seconds")) return std::nullopt;
  const std::string word = arguments.text("trial-seconds");
  const std::size_t dots = word.find("..");
  const auto low = number_from(word.substr(0, dots));
  const auto high = dots == std::string::npos ? low : number_from(word.substr(dots + 2));
  if (low && high && *low > 0 && *low <= *high) return SecondsRange{*low, *high};
  return fail(ErrorCode::kUsage,
              fmt::format("--trial-seconds is '{}'; it must be a range such as 30..300", word));
}

Result<PaceSettings> pace_from(const Arguments& arguments, const StudyConfig& config) {
  PaceSettings pace;
  DETOL_ASSIGN(pace.trial_s, trial_seconds(arguments));
  DETOL_ASSIGN(pace.report_every_s, number_of(arguments, "report-every", 1e-3, 0));
  const double speed = config.trains() ? kDefaultNetworkWorkPerS : kDefaultTableWorkPerS;
  DETOL_ASSIGN(pace.work_per_s, number_of(arguments, "speed", 1, speed));
  if (pace.report_every_s > 0 && !pace.trial_s)
    return fail(ErrorCode::kUsage, "--report-every needs --trial-seconds LOW..HIGH");
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
  if (std::filesystem::is_regular_file(from, ignored)) {
    DETOL_ASSIGN(settings.curves, read_curves(from));
    return {};
  }
  DETOL_ASSIGN(const auto reader, Reader::open(arguments.globals.storage));
  DETOL_ASSIGN(const StudyRecord study, reader->study(from));
  DETOL_ASSIGN(const std::vector<Event> events, reader->events(study.id));
  measured = group_times_of(events);
  const GroupScaling scaling(measured.times);
  settings.curves = curves_of(events, [&](int ranks) { return scaling.speed(ranks); });
  if (settings.curves->trials.empty())
    return fail(ErrorCode::kInput, fmt::format("study '{}' has no trial that reported", from));
  settings.pace.group_speed = scaling.speed(settings.group_size);
  return {};
}

// Reads all settings, and what the study of --curves says of groups.
Result<SimulationSettings> settings_from(const Arguments& arguments, GroupTimes& measured) {
  SimulationSettings settings;
  DETOL_ASSIGN(settings.config, read_space(arguments));
  if (settings.config.command)
    return fail(ErrorCode::kUsage,
                "simulate runs no program, and so no 'command'; it takes networks, functions and "
                "tables");
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
    return fail(ErrorCode::kUsage, "--ledger keeps one study; give one --budget");
  return budgets;
}

// Returns the group size that suits the budget on as many devices, if groups of two sizes were
// measured.
Result<Cell> advised_group_size(const SimulationSettings& settings, const GroupTimes& measured) {
  const GroupScaling scaling(measured.times);
  if (!scaling.has_compared()) return Cell();
  StudyConfig config = settings.config;
  config.resources.workers = 0;
  DETOL_ASSIGN(RemainingSearch left, remaining_search(config, {}, to_text(settings.budget),
                                                      settings.workers * settings.group_size));
  left.epoch_work = measured.epoch_work;
  return Cell(std::int64_t{best_group_size(scaling, left)});
}

// Returns the best values over the device time: the last improvement in each part of it.
std::string series_of(const SimulationReport& report, int parts) {
  Json points = Json::array();
  const auto& all = report.improvements;
  const auto part_of = [&](const Improvement& one) {
    return std::floor(one.device_s / report.device_s * parts);
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_last = i + 1 == all.size() || part_of(all[i]) < part_of(all[i + 1]);
    if (is_last)
      points.push_back({{"device_h", all[i].device_s / kHourS}, {"value", all[i].value}});
  }
  return compact(points);
}

Rows rows_of(const std::vector<Budget>& budgets, const std::vector<SimulationReport>& reports,
             const std::vector<Cell>& advised, Format format) {
  const int parts = format == Format::kTable ? kPointsToRead : kPoints;
  Rows rows{.columns = {"budget",          "utilization",    "best",           "best_trial",
                        "device_h",        "wall_h",         "work",           "trained",
                        "finished",        "pruned",         "failed",         "known_or_waiting",
                        "lost_workers",    "messages_per_s", "commits_per_s",  "events",
                        "fresh_share",     "fallback_share", "master_s_per_s", "decision_ms_p50",
                        "decision_ms_p99", "ask_ms",         "peak_mb",        "advised_group_size",
                        "best_so_far"},
            .rows = {}};
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const SimulationReport& r = reports[i];
    const double wall_s = std::max(r.wall_s, 1e-9);
    const auto per_s = [&](std::int64_t count) { return static_cast<double>(count) / wall_s; };
    const auto proposals = static_cast<double>(std::max<std::int64_t>(1, r.proposals));
    const bool has_best = !r.improvements.empty();
    rows.rows.push_back(
        {to_text(budgets[i]),
         r.utilization(),
         has_best ? Cell(r.improvements.back().value) : Cell(),
         has_best ? Cell(static_cast<std::int64_t>(r.improvements.back().trial)) : Cell(),
         r.device_s / kHourS,
         r.wall_s / kHourS,
         r.work,
         std::int64_t{r.trained},
         std::int64_t{r.finished},
         std::int64_t{r.pruned},
         std::int64_t{r.failed},
         std::int64_t{r.asked - r.trained},
         r.losses,
         per_s(r.messages),
         per_s(r.commits),
         r.events,
         static_cast<double>(r.fresh) / std::max(1, r.asked),
         static_cast<double>(r.fallbacks) / std::max(1, r.asked),
         r.real_master_s / wall_s,
         r.real_decision_p50_s * 1e3,
         r.real_decision_p99_s * 1e3,
         r.real_asking_s / proposals * 1e3,
         static_cast<double>(r.peak_bytes) / 1e6,
         advised[i],
         series_of(r, parts)});
  }
  return rows;
}

Result<int> run_simulate(const Arguments& arguments) {
  GroupTimes measured;
  auto read = settings_from(arguments, measured);
  if (!read) return tl::unexpected(as_written(read.error(), arguments));
  SimulationSettings settings = *std::move(read);
  DETOL_ASSIGN(const std::vector<Budget> budgets, budgets_from(arguments, settings));
  if (arguments.has("save-curves") && settings.curves)
    DETOL_TRY(write_output(arguments.text("save-curves"), to_json_lines(*settings.curves)));
  std::vector<SimulationReport> reports;
  std::vector<Cell> advised;
  for (const Budget& budget : budgets) {
    settings.budget = budget;
    DETOL_ASSIGN(reports.emplace_back(), simulate(settings));
    DETOL_ASSIGN(advised.emplace_back(), advised_group_size(settings, measured));
    const std::string& ended = reports.back().ended;  // without what a resume would do
    if (reports.back().has_failed) {
      log_warning("{}: {}", to_text(budget), ended);
    } else {
      log_info("{}: {}", to_text(budget), ended.substr(0, ended.find(';')));
    }
  }
  const Rows rows = rows_of(budgets, reports, advised, arguments.globals.format);
  DETOL_TRY(rows.rows.size() == 1 ? show_record(rows, arguments.globals)
                                  : show(rows, arguments.globals));
  const bool has_failed = std::ranges::any_of(reports, &SimulationReport::has_failed);
  return has_failed ? kExitFailures : kExitDone;
}

std::string simulate_notes() {
  return "A function or a table gives each candidate its value; networks get theirs from --curves, "
         "or else\nfrom power laws that a seeded random function of the choices chooses: they say "
         "how devices are\nused, not how good networks are. Equal settings give equal searches; "
         "master_s_per_s,\ndecision_ms, ask_ms and peak_mb are measured on this machine. Each "
         "proposal\nis really made: gp and portfolio take tens of ms of a core for one, "
         "random almost none.\n";
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
