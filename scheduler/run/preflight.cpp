#include "scheduler/run/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/hash.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/table.h"
#include "core/utf8.h"
#include "encodings/network/task.h"
#include "scheduler/pruners/pruner.h"
#include "search/searcher.h"
#include "trainer/evaluator.h"

namespace detol::inline scheduler {
namespace {

// Adds the place to an error. An unknown name is an error of input if it stands in a file.
tl::unexpected<Error> at(const Place& place, Error error) {
  if (error.code == ErrorCode::kUsage && place.override_path.empty())
    error.code = ErrorCode::kInput;
  error.message = fmt::format("{}: {}", place.text, error.message);
  error.subject = place.override_path;
  return tl::unexpected(std::move(error));
}

Result<void> check_search(const StudyConfig& config) {
  const SearcherSettings searcher{
      .seed = config.seed, .objectives = config.objectives, .options = config.algorithm.options};
  if (const auto made = make_searcher(config.algorithm.name, config.space, searcher); !made)
    return at(config.algorithm_at, made.error());
  if (const auto made = make_pruner(config.pruner.name, pruner_settings_of(config)); !made)
    return at(config.pruner_at, made.error());
  for (const auto& assignment : config.initial_trials) {
    if (const auto genome = config.space.genome(assignment); !genome)
      return at(config.initial_trials_at, genome.error());
  }
  return {};
}

// Warns of a metric whose worst trial would be the best: `maximize val_loss`.
void warn_of_directions(const StudyConfig& config) {
  for (const Objective& objective : config.objectives) {
    const bool maximizes = objective.direction == Direction::kMaximize;
    const bool is_known = std::ranges::any_of(tasks(), [&](const TaskRow& task) {
      return std::ranges::find(task.metrics, objective.metric) != task.metrics.end();
    });
    if (!is_known || maximizes == is_better_if_larger(objective.metric)) continue;
    log_warning("objectives: {} is {}, though {} of it is better", objective.metric,
                maximizes ? "maximized" : "minimized", maximizes ? "less" : "more");
  }
}

// Warns of a pruner that compares trials while their learning rates still rise.
void warn_of_early_rungs(const StudyConfig& config) {
  const PrunerRow& pruner = *find_row(pruners(), config.pruner.name);
  if (!pruner.pauses || config.early_reports.empty()) return;
  const double first = config.early_reports.front();
  if (first >= config.longest_warmup) return;
  log_warning(
      "{}: search.pruner: '{}' judges trials after {:.2g} epochs, inside a warm-up of {:.2g}: that "
      "tells how fast a learning rate starts, not where it ends; leave out training.early_reports, "
      "or make schedule.warmup_epochs shorter",
      config.pruner_at.text, config.pruner.name, first, config.longest_warmup);
}

}  // namespace

Result<void> check_units(const Budget& budget, const StudyConfig& config) {
  const bool works = config.trains() || (config.table && !config.table->cost.empty());
  if (budget.work && !works) {
    return fail(
        ErrorCode::kUsage,
        fmt::format("the budget {} is in flops, but a {} does no work; use trials or time",
                    to_text(budget), config.table ? "table without 'cost'" : config.scorer()));
  }
  return {};
}

Result<Budget> check_budget(const StudyConfig& config) {
  if (config.budget.empty()) return Budget{};
  const auto budget = parse_budget(config.budget);
  if (!budget) return at(config.budget_at, budget.error());
  DETOL_TRY(check_units(*budget, config));
  return *budget;
}

void say_remarks(const DataConfig& config, const DatasetInfo& data) {
  std::filesystem::path path(config.path);
  if (!path.has_filename()) path = path.parent_path();  // of "folder/"
  std::string of = fmt::format(" ({})", printable(path.filename().string()));
  for (const std::string& remark : data.remarks) log_info("{}{}", remark, std::exchange(of, {}));
}

Cell size_of_space(const Space& space) {
  const double size = space.cardinality();
  return std::isinf(size) ? Cell("continuous") : Cell(size);
}

void say_known_remarks(Reader& reader, const StudyRecord& record, const DataConfig& config) {
  const auto rows =
      reader.select("SELECT facts_json->>'remarks' FROM v_datasets WHERE dataset = ?1",
                    {to_hex(record.data_fingerprint)});
  if (!rows || rows->rows.empty()) return;
  const auto* text = std::get_if<std::string>(&rows->rows.front().front());
  const auto remarks = json_or_discarded(text != nullptr ? *text : "");
  DatasetInfo data;
  for (const auto& remark : remarks) {
    if (remark.is_string()) data.remarks.push_back(remark.get<std::string>());
  }
  say_remarks(config, data);
}

Result<Preflight> check_study(const StudyConfig& config) {
  DETOL_TRY(check_search(config));
  warn_of_directions(config);
  warn_of_early_rungs(config);
  DETOL_ASSIGN(Budget budget, check_budget(config));
  auto data = inspect_study(config);
  if (!data) return at(config.data_path_at, data.error());
  say_remarks(config.data, *data);
  return Preflight{.budget = budget, .data = *data};
}

}  // namespace detol::inline scheduler
