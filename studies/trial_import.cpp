#include "studies/trial_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "core/clock.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/table.h"
#include "core/utf8.h"
#include "knowledge/exchange/optuna.h"
#include "scheduler/budget.h"

namespace detol::inline studies {
namespace {

// Returns the metric that unnamed values are.
Result<std::string> unnamed_metric(const std::string& asked, const StudyConfig& config) {
  const std::string metric = asked.empty() ? config.objectives.front().metric : asked;
  std::vector<std::string_view> known;
  for (const Objective& objective : config.objectives) known.push_back(objective.metric);
  if (std::ranges::find(known, metric) != known.end()) return metric;
  return fail(ErrorCode::kUsage, "--metric: " + unknown_name("objective", metric, known));
}

// Leaves out the parameters that the space does not have, and names them.
void leave_out_unknown(std::vector<TrialHistory>& histories, const Space& space) {
  std::set<std::string> unknown;
  for (TrialHistory& history : histories) {
    std::erase_if(history.params, [&](const auto& param) {
      if (space.index_of(param.first)) return false;
      unknown.insert(param.first);
      return true;
    });
  }
  if (unknown.empty()) return;
  const std::vector<std::string_view> names(unknown.begin(), unknown.end());
  log_warning("not parameters of the space, left out: {}", printable_excerpt(join(names)));
}

Result<std::vector<TrialHistory>> read_histories(const TrialFile& file, const StudyConfig& config) {
  DETOL_ASSIGN(const std::string metric, unnamed_metric(file.metric, config));
  if (!is_sqlite(file.path)) {
    DETOL_ASSIGN(const std::string bytes, read_file(file.path));
    return read_trial_file({file.path, file.from, metric}, bytes, config);
  }
  DETOL_ASSIGN(auto histories, read_optuna({file.path, file.from, config.objectives, metric}));
  leave_out_unknown(histories, config.space);
  std::erase_if(histories, [&](const TrialHistory& history) {
    // Optuna's objective may fail before it has asked for all parameters.
    return history.state == TrialState::kFail && !config.space.genome(history.params);
  });
  return histories;
}

// Returns the message with what the domain of a missing parameter accepts.
std::string with_domain(std::string message, const Space& space) {
  constexpr std::string_view kMissing = " is missing";
  if (!message.ends_with(kMissing)) return message;
  const auto name = std::string_view(message).substr(0, message.size() - kMissing.size());
  const auto index = space.index_of(name);
  return index ? fmt::format("{}; it accepts {}", message, accepted_values(space.domains()[*index]))
               : message;
}

// Checks that a complete trial has a final number for every objective.
Result<void> check_objectives(const TrialHistory& history, const StudyConfig& config) {
  if (history.state != TrialState::kComplete) return {};
  for (const Objective& objective : config.objectives) {
    const auto has_it = [&](const auto& metric) { return metric.first == objective.metric; };
    if (!history.curve.empty() && std::ranges::any_of(final_epoch(history).metrics, has_it))
      continue;
    return fail(ErrorCode::kInput, fmt::format("{}: {} is missing; a trial without it is no "
                                               "COMPLETE one: give it a number, or the state FAIL",
                                               history.place, objective.metric));
  }
  return {};
}

// Returns how long a trial of this state was trained, where a file does not say it.
int last_epoch(const TrialHistory& history, const Genome& genome, const StudyConfig& config) {
  if (history.state != TrialState::kComplete) return 1;
  if (!genome.is_active("training.epochs"))
    return config.max_epochs < kEndless ? config.max_epochs : 1;
  return static_cast<int>(genome.number("training.epochs"));
}

Result<std::vector<Event>> events_from(std::vector<TrialHistory> histories,
                                       const StudyConfig& config, const DatasetInfo& data) {
  const double now_s = system_clock().wall_s();
  std::vector<Event> events;
  for (std::size_t i = 0; i < histories.size(); ++i) {
    TrialHistory& history = histories[i];
    const auto genome = config.space.genome(history.params);
    if (!genome) {
      return fail(
          ErrorCode::kInput,
          fmt::format("{}: {}", history.place, with_domain(genome.error().message, config.space)));
    }
    DETOL_TRY(check_objectives(history, config));
    if (!history.curve.empty() && history.curve.back().epoch == 0)
      history.curve.back().epoch = last_epoch(history, *genome, config);
    if (history.started_s == 0) history.started_s = now_s;
    if (history.finished_s == 0) history.finished_s = std::max(now_s, history.started_s);
    event::Asked asked;
    asked.trial = i;
    asked.params = genome->assignments();
    asked.proposer = "import";
    asked.at_s = history.started_s;
    const bool has_network = config.trains() && data.fingerprint != 0;
    if (const auto candidate = has_network ? config.candidate(*genome, data.task)
                                           : tl::unexpected(StudyConfig::Refused{})) {
      if (candidate->arch_hash != 0) asked.arch_hash = to_hex(candidate->arch_hash);
      asked.network_params = candidate->cost.params;
      asked.flops = candidate->cost.flops;
    }
    std::ranges::move(events_of(asked, history, config.objectives), std::back_inserter(events));
  }
  return events;
}

Result<std::string> imported_budget(const StudyConfig& config) {
  if (config.budget.empty()) return std::string();
  return parse_budget(config.budget).map([](const Budget& budget) { return to_text(budget); });
}

}  // namespace

Result<std::vector<TrialHistory>> read_finished(const TrialFile& file, const StudyConfig& config) {
  DETOL_ASSIGN(auto histories, read_histories(file, config));
  const auto count = std::erase_if(
      histories, [](const TrialHistory& history) { return history.state < TrialState::kComplete; });
  if (count > 0) log_warning("left out {} trials that are not over", count);
  if (!histories.empty()) return histories;
  return fail(
      ErrorCode::kInput,
      fmt::format("{}: it has no trial that is over; nothing was imported", file.path.string()));
}

Result<void> import_trials(const std::filesystem::path& storage, const StudyConfig& config,
                           const DatasetInfo& data, std::vector<TrialHistory> histories) {
  DETOL_ASSIGN(const std::string budget, imported_budget(config));
  DETOL_ASSIGN(auto events, events_from(std::move(histories), config, data));
  const double now_s = system_clock().wall_s();
  event::StudyState done{.state = StudyPhase::kDone, .budget = budget, .at_s = now_s};
  events.emplace_back(std::move(done));
  DETOL_ASSIGN(const StudyConfig recorded, for_new_study(config));
  return add_study(storage,
                   {.name = config.study,
                    .config = recorded.text,
                    .budget = budget,
                    .data_fingerprint = data.fingerprint,
                    .objectives = config.objectives,
                    .created_s = now_s},
                   events);
}

}  // namespace detol::inline studies
