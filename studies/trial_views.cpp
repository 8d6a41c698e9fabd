#include "studies/trial_views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "scheduler/explanation.h"
#include "trainer/data/dataset.h"
#include "trainer/data/formats/formats.h"
#include "trainer/inheritance/inheritance_plan.h"

namespace detol::inline studies {
namespace {

std::string inputs_of(const Network& network, const Node& node) {
  std::vector<std::string_view> names;
  for (const NodeId input : node.inputs) names.push_back(network.nodes()[input].name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Returns one row per layer, in the order of computation.
Rows layers_of(const Network& network) {
  Rows rows{.columns = {"layer", "op", "inputs", "output", "kernel", "stride", "groups", "params",
                        "flops"},
            .rows = {}};
  for (NodeId id = 0; id < network.nodes().size(); ++id) {
    const Node& node = network.nodes()[id];
    const std::vector<Shape> inputs = network.input_shapes(id);
    std::int64_t params = 0;
    for (const ParameterSpec& spec : parameters_of(node.layer, inputs))
      params += spec.trainable ? spec.elements() : 0;
    rows.rows.push_back({node.name, std::string(to_text(node.layer.kind)), inputs_of(network, node),
                         to_text(node.shape), node.layer.kernel, node.layer.stride,
                         node.layer.groups, params,
                         static_cast<std::int64_t>(flops_of(node.layer, inputs, node.shape))});
  }
  return rows;
}

// By NodeStart::Kind.
constexpr std::array<std::string_view, 4> kBegun = {"new", "inherited", "identity", "zero"};

// Adds how each layer with parameters began, to the rows of a trial that inherited.
Result<void> add_beginnings(const OpenStudy& study, const StudyConfig& config, const Task& task,
                            TrialId parent, const Network& network, Rows& rows) {
  DETOL_ASSIGN(const TrialSummary trial, trial_numbered(study, parent));
  DETOL_ASSIGN(const Genome genome, genome_of(config, trial));
  const auto before = config.candidate(genome, task);
  if (!before) return {};
  const InheritancePlan plan = plan_inheritance(before->network, network);
  rows.columns.push_back(fmt::format("from trial {}", parent));
  for (NodeId id = 0; id < network.nodes().size(); ++id) {
    const bool has_own =
        !parameters_of(network.nodes()[id].layer, network.input_shapes(id)).empty();
    rows.rows[id].push_back(
        has_own ? Cell(std::string(kBegun[static_cast<std::size_t>(plan.nodes[id].kind)]))
                : Cell());
  }
  return {};
}

// EventLine is a line of the history of a trial: an event and its description.
struct EventLine {
  std::string event;
  std::string text;
};

std::string text_of(const std::vector<std::pair<std::string, double>>& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics)
    text += fmt::format("{}{} {:.6g}", text.empty() ? "" : ", ", name, value);
  return text;
}

EventLine describe(const event::Asked& e) {
  std::string text = "by " + e.proposer;
  if (!e.arch_hash.empty()) text += "; network " + e.arch_hash;
  if (e.inherits)
    text += fmt::format("; begins with trial {} at epoch {:.3g}", e.inherits->trial,
                        e.inherits->epochs);
  return {"asked", text};
}
EventLine describe(const event::Started& e) {
  return {"started", fmt::format("attempt {} on {}", e.attempt, e.worker)};
}
EventLine describe(const event::Reported& e) {
  return {"reported", fmt::format("attempt {}, epoch {:.3g}: {} ({:.1f} s)", e.attempt, e.epochs(),
                                  text_of(e.metrics), e.train_s)};
}
EventLine describe(const event::Told& e) {
  const auto cause = cause_of(e.outcome);
  return {"told", fmt::format("{} {} {}", to_text(e.state), cause ? to_text(*cause) : "",
                              to_text(e.reason))};
}
EventLine describe(const event::Model& e) {
  return {"model", fmt::format("{} {} {}: {}", to_text(e.kind), e.model, to_text(e.state),
                               text_of(e.metrics))};
}
EventLine describe(const event::Requeued& e) {
  switch (e.reason.cause) {
    case RequeueCause::kPromoted:
      return {"promoted", fmt::format("after attempt {}: it goes on to the next rung", e.attempt)};
    case RequeueCause::kStopped:
    case RequeueCause::kBudgetExtended:
    case RequeueCause::kRetried:
      return {"resumed", fmt::format("after attempt {}: {}", e.attempt, to_text(e.reason))};
    default:
      return {"requeued", fmt::format("attempt {} ended early: {}", e.attempt, to_text(e.reason))};
  }
}

std::string model_of(const WhyProposed& why, const StudyConfig& config) {
  if (!why.explanation) return fmt::format("none: {} predicts nothing", config.algorithm.name);
  const bool is_fitted = !why.explanation->predictions.empty();
  return why.explanation->model + (is_fitted ? "" : ", before its first fit");
}

}  // namespace

Result<Rows> network_rows(const OpenStudy& study, const TrialSummary& trial) {
  DETOL_ASSIGN(const StudyConfig config, load_study_config(study.record.config, study.record.name));
  if (!config.has_networks()) {
    return fail(ErrorCode::kEmpty, fmt::format("study {} scores a {}; its trials have no network",
                                               study.record.name, config.scorer()));
  }
  DETOL_ASSIGN(const Genome genome, genome_of(config, trial));
  Task task = config.network_task.value_or(Task{});
  if (!config.network_task) {
    DETOL_ASSIGN(const DatasetInfo data, inspect_dataset(config.data));
    task = data.task;
  }
  const auto candidate = config.candidate(genome, task);
  if (!candidate) return fail(ErrorCode::kEmpty, "it has no network: " + candidate.error().reason);
  Rows rows = layers_of(candidate->network);
  DETOL_ASSIGN(const auto parent, inherited_by(study, trial.id));
  if (parent) DETOL_TRY(add_beginnings(study, config, task, *parent, candidate->network, rows));
  return rows;
}

// SQLite stores NaN as NULL.
Result<Rows> curve_rows(const OpenStudy& study, TrialId trial) {
  DETOL_ASSIGN(const Rows cells,
               study.reader->select("SELECT epoch, name, value FROM v_metrics WHERE study = ?1 AND "
                                    "trial = ?2 ORDER BY epoch, name",
                                    {study.record.name, static_cast<std::int64_t>(trial)}));
  if (cells.rows.empty()) return fail(ErrorCode::kEmpty, "it has not reported an epoch yet");
  Rows rows{.columns = {"epoch"}, .rows = {}};
  for (const auto& row : cells.rows) {
    const std::string& name = std::get<std::string>(row[1]);
    if (rows.rows.empty() || rows.rows.back().front() != row[0]) rows.rows.push_back({row[0]});
    auto place = std::find(rows.columns.begin(), rows.columns.end(), name);
    if (place == rows.columns.end()) place = rows.columns.insert(place, name);
    auto& line = rows.rows.back();
    line.resize(std::max(line.size(), rows.columns.size()));
    line[static_cast<std::size_t>(place - rows.columns.begin())] =
        std::holds_alternative<std::monostate>(row[2])
            ? Cell(std::numeric_limits<double>::quiet_NaN())
            : row[2];
  }
  for (auto& line : rows.rows) line.resize(rows.columns.size());
  return rows;
}

Result<Rows> history_rows(const OpenStudy& study, TrialId trial) {
  DETOL_ASSIGN(const auto events, study.reader->events(study.record.id));
  Rows rows{.columns = {"event", "what"}, .rows = {}};
  for (const Event& event : events) {
    std::visit(
        [&](const auto& e) {
          if constexpr (requires { e.trial; }) {
            if (e.trial != trial) return;
            const EventLine line = describe(e);
            rows.rows.push_back({line.event, line.text});
          }
        },
        event);
  }
  return rows;
}

Result<Rows> reason_row(const OpenStudy& study, const TrialSummary& trial) {
  DETOL_ASSIGN(const StudyConfig config, load_study_config(study.record.config, study.record.name));
  DETOL_ASSIGN(const auto events, study.reader->events(study.record.id));
  DETOL_ASSIGN(const WhyProposed why, why_proposed(config, events, trial.id));
  Rows rows{.columns = {"trial", "proposer", "told", "pending", "model"},
            .rows = {{static_cast<std::int64_t>(trial.id), why.proposer,
                      static_cast<std::int64_t>(why.told), static_cast<std::int64_t>(why.pending),
                      model_of(why, config)}}};
  if (!why.explanation || why.explanation->predictions.empty()) return rows;
  const auto add = [&](std::string name, double value) {
    rows.columns.push_back(std::move(name));
    rows.rows.front().push_back(std::isnan(value) ? Cell() : value);
  };
  for (std::size_t i = 0; i < why.explanation->predictions.size(); ++i) {
    const auto& [value, deviation] = why.explanation->predictions[i];
    const std::string& metric = config.objectives[i].metric;
    add("predicted_" + metric, value);
    add("deviation_" + metric, deviation);
    add("measured_" + metric, metric_of(trial, metric));
  }
  add("acquisition", why.explanation->acquisition);
  if (why.explanation->feasibility) add("feasibility", *why.explanation->feasibility);
  if (why.explanation->success) add("success", *why.explanation->success);
  return rows;
}

}  // namespace detol::inline studies
