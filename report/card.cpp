#include "report/card.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "core/json_text.h"
#include "report/panels.h"
#include "scheduler/monitor/view.h"

namespace detol::inline report {
namespace {

std::string moment_text(double seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

// Returns a cell as text; empty where there is none.
std::string cell_text(const Rows& rows, std::size_t row, std::string_view column) {
  const auto found = std::ranges::find(rows.columns, column);
  if (found == rows.columns.end()) return "";
  const Cell& cell = rows.rows[row][static_cast<std::size_t>(found - rows.columns.begin())];
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  const auto* real = std::get_if<double>(&cell);
  return real != nullptr ? fmt::format("{:.6g}", *real) : "";
}

std::string question(const ReportSource& source) {
  std::vector<std::string> goals;
  for (const Objective& objective : source.study.objectives)
    goals.push_back(fmt::format("{} {}", to_text(objective.direction), objective.metric));
  return fmt::format("{}", fmt::join(goals, ", "));
}

std::string with_options(const Named& named) {
  if (named.options.empty()) return named.name;
  std::vector<std::string> options;
  for (const auto& [name, value] : named.options)
    options.push_back(fmt::format("{} {}", name, value));
  return fmt::format("{} ({})", named.name, fmt::join(options, ", "));
}

// Returns who scores the candidates of a study that trains on no data.
std::string scorer_text(const StudyConfig& config) {
  if (config.command) return "none of its own: a program trains and scores the candidates";
  if (config.external) return "none of its own: whoever asks for candidates tells their values";
  return fmt::format("none: the function {} scores the candidates",
                     config.function ? config.function->name : "");
}

// Returns what was said of the data when they were first read.
std::vector<std::string> remarks_on_data(const ReportSource& source) {
  std::vector<std::string> remarks;
  if (source.dataset.rows.empty()) return remarks;
  const auto facts = json_or_discarded(cell_text(source.dataset, 0, "facts_json"));
  if (!facts.is_object() || !facts.contains("remarks") || !facts["remarks"].is_array())
    return remarks;
  for (const auto& remark : facts["remarks"]) {
    if (remark.is_string()) remarks.push_back(remark.get<std::string>());
  }
  return remarks;
}

std::string data_text(const ReportSource& source) {
  const StudyConfig& config = source.config;
  if (!config.trains() && !config.table) return scorer_text(config);
  std::string text = config.data_path();
  if (!source.dataset.rows.empty()) {
    const std::string name = cell_text(source.dataset, 0, "name");
    const std::string samples = cell_text(source.dataset, 0, "samples");
    const std::string shape = cell_text(source.dataset, 0, "shape");
    const std::string classes = cell_text(source.dataset, 0, "classes");
    if (!name.empty() && name != text) text = fmt::format("{} ({})", name, text);
    if (!samples.empty()) text += fmt::format(", {} records", samples);
    if (!shape.empty()) text += fmt::format(" of {}", shape);
    if (!classes.empty() && classes != "0") text += fmt::format(", {} classes or targets", classes);
  }
  text += ", fingerprint " + to_hex(source.study.data_fingerprint);
  for (const std::string& remark : remarks_on_data(source)) text += "; " + remark;
  return text;
}

std::string budget_text(const ReportSource& source) {
  const auto budget = parse_budget(source.study.budget);
  if (!budget || budget->is_unlimited()) return "unlimited";
  return to_text(*budget);
}

std::string used_text(const ReportSource& source, const Trials& trials) {
  const Spent spent = spent_by(source, trials);
  std::string text =
      fmt::format("{} of wall time, {} of device time, {:.0f} trials trained",
                  duration_text(spent.wall_s), duration_text(spent.device_s), spent.trials);
  const auto untried = std::ranges::count_if(trials, [](const ShownTrial& trial) {
    return trial.state == "WAITING" && trial.attempts.empty() && trial.epochs == 0;
  });
  if (untried > 0 && source.study.state != StudyPhase::kRunning)
    text += fmt::format(", {} not tried", untried);
  const auto budget = parse_budget(source.study.budget);
  if (budget && !budget->is_unlimited())
    text += fmt::format(": {:.0f} % of the budget", 100 * budget->used(spent));
  return text;
}

// Returns the machines of the study's runs, each once.
std::string machines_text(const ReportSource& source) {
  std::vector<std::string> machines;
  for (std::size_t i = 0; i < source.runs.rows.size(); ++i) {
    std::string text = cell_text(source.runs, i, "host_name");
    const std::string cpu = cell_text(source.runs, i, "cpu");
    const std::string backend = cell_text(source.runs, i, "backend");
    if (!cpu.empty()) text += fmt::format(": {} x {}", cell_text(source.runs, i, "cores"), cpu);
    const std::string gpus = cell_text(source.runs, i, "gpus_json");
    if (!gpus.empty() && gpus != "[]") text += ", GPUs " + gpus;
    if (!backend.empty()) text += ", backend " + backend;
    if (std::ranges::find(machines, text) == machines.end()) machines.push_back(text);
  }
  return machines.empty() ? "not recorded" : fmt::format("{}", fmt::join(machines, "; "));
}

std::string versions_text(const ReportSource& source) {
  std::vector<std::string> versions;
  for (std::size_t i = 0; i < source.runs.rows.size(); ++i) {
    const std::string version = cell_text(source.runs, i, "version");
    if (!version.empty() && std::ranges::find(versions, version) == versions.end())
      versions.push_back(version);
  }
  if (versions.empty()) versions.emplace_back("not recorded");
  return fmt::format("{} (this report: {})", fmt::join(versions, ", "), source.version);
}

std::string ended_text(const ReportSource& source, const Trials& trials) {
  const double last_s = last_moment(source, trials);
  if (source.study.state == StudyPhase::kRunning)
    return fmt::format("not over; last event {}", moment_text(last_s));
  return fmt::format("{} ({})", moment_text(last_s),
                     source.study.state == StudyPhase::kDone ? "done" : "stopped, resumable");
}

// CostOfState: what the trials of one state took.
struct CostOfState {
  std::int64_t trials = 0;
  double device_s = 0, epochs = 0;
};

Json costs(const Trials& trials) {
  std::map<std::string, CostOfState> by_state;
  for (const ShownTrial& trial : trials) {
    CostOfState& cost = by_state[trial.state];
    ++cost.trials;
    cost.device_s += trial.device_s;
    cost.epochs += trial.epochs;
  }
  Json rows = Json::array();
  for (const std::string_view state : {"COMPLETE", "PRUNED", "FAIL", "RUNNING", "WAITING"}) {
    const CostOfState& cost = by_state[std::string(state)];
    rows.push_back({{"state", state},
                    {"trials", cost.trials},
                    {"epochs", cost.epochs},
                    {"device_s", cost.device_s}});
  }
  return rows;
}

Json interval_in(const event::Model& model, const std::string& metric) {
  const auto found = std::ranges::find(model.intervals, metric, &event::Interval::metric);
  if (found == model.intervals.end()) return {};
  return Json::array({number_or_null(found->low), number_or_null(found->high)});
}

// Returns the test metrics of models, one row each with its interval.
Json tests(const ReportSource& source) {
  Json rows = Json::array();
  for (const event::Model& model : source.models) {
    for (const auto& [metric, value] : model.metrics) {
      if (!metric.starts_with("test_")) continue;
      rows.push_back(
          {{"model", model.kind == ModelKind::kTestedTrial ? "" : fmt::format("{}", model.model)},
           {"trial", model.trial},
           {"kind", to_text(model.kind)},
           {"metric", metric},
           {"value", number_or_null(value)},
           {"interval", interval_in(model, metric)}});
    }
  }
  return rows;
}

bool has_tests(const ReportSource& source) {
  return std::ranges::any_of(source.models, [](const event::Model& model) {
    return std::ranges::any_of(model.metrics,
                               [](const auto& one) { return one.first.starts_with("test_"); });
  });
}

Json spread_row(std::string what, const std::vector<double>& values) {
  double mean = 0, square = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) square += (value - mean) * (value - mean);
  return {{"what", std::move(what)},
          {"count", values.size()},
          {"mean", mean},
          {"deviation", std::sqrt(square / static_cast<double>(values.size() - 1))}};
}

// Returns a row for each candidate that was measured with several seeds, and for each set of
// retrained models: mean and standard deviation.
Json spreads(const ReportSource& source, const Trials& trials) {
  constexpr std::size_t kMostRows = 20;
  std::vector<const ShownTrial*> measured;
  for (const ShownTrial& trial : trials)
    if (trial.is_scored && !trial.attempts.empty()) measured.push_back(&trial);
  std::ranges::stable_sort(measured, {}, &ShownTrial::candidate);
  Json rows = Json::array();
  for (auto first = measured.begin(); first != measured.end();) {
    const auto end = std::find_if(first, measured.end(), [&](const ShownTrial* trial) {
      return trial->candidate != (*first)->candidate;
    });
    const std::span group(first, end);
    first = end;
    std::vector<double> values;
    std::vector<std::string> numbers;
    for (const ShownTrial* trial : group) {
      if (trial->epochs != group.front()->epochs) continue;
      values.push_back(trial->values.front());
      numbers.push_back(std::to_string(trial->trial));
    }
    if (values.size() < 2 || rows.size() == kMostRows) continue;
    rows.push_back(spread_row(fmt::format("trials {}: {}", fmt::join(numbers, ", "),
                                          source.study.objectives.front().metric),
                              values));
  }
  std::map<std::pair<std::int64_t, std::string>, std::vector<double>> retrained;
  for (const event::Model& model : source.models) {
    if (model.kind != ModelKind::kRetrained || model.state != ModelState::kComplete) continue;
    for (const auto& [metric, value] : model.metrics)
      if (std::isfinite(value)) retrained[{model.first, metric}].push_back(value);
  }
  for (const auto& [key, values] : retrained) {
    if (values.size() >= 2)
      rows.push_back(spread_row(
          fmt::format("models from {} on, retrained: {}", key.first, key.second), values));
  }
  return rows;
}

}  // namespace

Spent spent_by(const ReportSource& source, const Trials& trials) {
  Spent spent;
  for (const Event& event : source.events) {
    if (const auto* accounted = std::get_if<event::Accounted>(&event)) {
      spent.wall_s = accounted->wall_s;
      spent.device_s = accounted->device_s;
    }
  }
  for (const ShownTrial& trial : trials) {
    if (trial.epochs > 0 || !trial.attempts.empty()) ++spent.trials;
    spent.work += trial.work;
  }
  return spent;
}

Json study_card(const ReportSource& source, const Trials& trials) {
  const auto labels = source.labels.find(std::nullopt);
  const Labels own = labels != source.labels.end() ? labels->second : Labels();
  Json rows = Json::array();
  const auto add = [&](const char* label, const std::string& text) {
    if (!text.empty()) rows.push_back({label, text});
  };
  add("Question", question(source));
  add("Data", data_text(source));
  add("Algorithm", with_options(source.config.algorithm));
  add("Pruner", with_options(source.config.pruner));
  add("Seed", fmt::format("{}{}", source.config.seed,
                          source.config.repeats > 0
                              ? fmt::format(", {} repeats of the best", source.config.repeats)
                              : ""));
  add("Budget", budget_text(source));
  add("Used", used_text(source, trials));
  add("Machines", machines_text(source));
  add("Started", moment_text(source.study.created_s));
  add("Finished", ended_text(source, trials));
  add("detol", versions_text(source));
  add("Tags", fmt::format("{}", fmt::join(own.tags, ", ")));
  add("Note", own.note);
  return rows;
}

Json what_was_found(const ReportSource& source, const Trials& trials) {
  Json found{{"costs", costs(trials)},
             {"tests", tests(source)},
             {"spreads", spreads(source, trials)},
             {"time_to_best", time_to_best(source, trials)}};
  const auto order = ranked(source, trials);
  if (order.empty() && !source.best) {
    found["why"] = "No trial has reported a number yet that keeps to the study's constraints.";
    return found;
  }
  const std::size_t by_value = order.empty() ? 0 : order.front();
  const ShownTrial& best = trials[source.best.value_or(by_value)];
  found["best"] = {{"trial", best.trial},
                   {"state", best.state},
                   {"values", Json::array()},
                   {"params", best.params},
                   {"algorithm", best.algorithm},
                   {"epochs", best.epochs},
                   {"network_params", number_or_null(best.params_count)},
                   {"flops", number_or_null(best.flops)}};
  for (const double value : best.values) found["best"]["values"].push_back(number_or_null(value));
  if (!order.empty() && trials[by_value].trial != best.trial)
    found["best"]["by_value"] = {{"trial", trials[by_value].trial},
                                 {"value", number_or_null(trials[by_value].values.front())}};
  return found;
}

Json what_it_lacks(const ReportSource& source, const Trials& trials) {
  Json lacks = Json::array();
  const std::string& name = source.study.name;
  if (source.config.trains() && !has_tests(source))
    lacks.push_back(
        fmt::format("Test metrics: no trial was tested (`detol test {}`). The values "
                    "here chose the best, and are too good for that reason.",
                    name));
  if (spreads(source, trials).empty())
    lacks.push_back(
        "Spread over seeds: no candidate was measured more than once, so that a small difference "
        "between two trials may be chance.");
  if (source.study.state == StudyPhase::kRunning)
    lacks.push_back("The end: the study is not over, and this is what is known so far.");
  if (source.study.state == StudyPhase::kStopped)
    lacks.push_back(fmt::format("The end: the study was stopped; `detol {} {}` goes on.",
                                source.config.external ? "ask" : "resume", name));
  if (source.runs.rows.empty())
    lacks.push_back("The machines: no run of the study is recorded under this name.");
  if (!source.why_no_importance.empty())
    lacks.push_back("Importance of the parameters: " + source.why_no_importance);
  if (source.config.has_networks() && !source.why_no_networks.empty())
    lacks.push_back("Drawings of networks: " + source.why_no_networks);
  const bool has_groups = std::ranges::any_of(source.events, [](const Event& event) {
    const auto* started = std::get_if<event::Started>(&event);
    return started != nullptr && started->group_size > 1;
  });
  if (has_groups)
    lacks.push_back("The share of their time that the processes of a group waited for each other.");
  lacks.push_back(fmt::format(
      "How much faster this search was than another: `detol compare {} OTHER` says that.", name));
  if (source.config.trains()) lacks.push_back("The loss landscape around the best network.");
  return lacks;
}

}  // namespace detol::inline report
