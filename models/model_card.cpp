#include "models/model_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/hash.h"
#include "core/utf8.h"
#include "models/ensemble_members.h"
#include "models/test_score.h"
#include "studies/model_rows.h"
#include "trainer/data/table_look.h"

namespace detol::inline models {
namespace {

std::string text_of(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return printable(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return fmt::format("{:.6g}", *real);
  return "unknown";
}

// Selects rows of a view where `study` is ?1.
Result<Rows> select(const OpenStudy& study, const std::string& sql) {
  return study.reader->select(sql, {study.record.name});
}

std::string duration_of(const Cell& seconds) {
  const auto* real = std::get_if<double>(&seconds);
  if (real == nullptr) return "unknown";
  if (*real < 60) return fmt::format("{:.3g} s", *real);
  return *real < 3600 ? fmt::format("{:.3g} min", *real / 60)
                      : fmt::format("{:.3g} h", *real / 3600);
}

std::string kind_of(const Model& model) {
  const std::string data = model.table ? "tabular" : "image";
  return data + (model.task == TaskKind::kRegression ? "-regression" : "-classification");
}

std::string class_list(const Model& model) {
  constexpr std::size_t kShown = 20;
  std::string names;
  for (std::size_t i = 0; i < std::min(kShown, model.class_names.size()); ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", printable(model.class_names[i]));
  return names + (model.class_names.size() > kShown ? ", ..." : "");
}

std::string what_it_is(const Model& model) {
  const std::size_t outputs = static_cast<std::size_t>(outputs_of(model));
  const bool is_binary = model.task == TaskKind::kBinary;
  std::string text =
      fmt::format("A network for {} of {} {}", row_of(model.task).name, is_binary ? 2 : outputs,
                  model.task == TaskKind::kRegression ? "numbers" : "classes");
  const std::string names = class_list(model);
  return text + (names.empty() ? "" : ": " + names) + ".\n";
}

Result<std::string> data_section(const OpenStudy& study, const StudyData& shared,
                                 const Model& model) {
  DETOL_ASSIGN(const auto fact,
               study.reader->fact(kDatasetFact, to_hex(study.record.data_fingerprint)));
  std::string text =
      fmt::format("`{}`, format {}, fingerprint {}", printable(shared.config.data.path),
                  shared.config.data.format, to_hex(study.record.data_fingerprint));
  if (fact) {
    DETOL_ASSIGN(const Rows parts,
                 study.reader->select("SELECT ?1->>'training', ?1->>'validation', ?1->>'test'",
                                      {fact->payload}));
    text += fmt::format(": {} samples to train on, {} to choose by, {} to test on",
                        text_of(parts.rows[0][0]), text_of(parts.rows[0][1]),
                        text_of(parts.rows[0][2]));
  }
  text += ".\n";
  if (!model.table) return text;
  text += "\n| column | kind | inputs |\n|---|---|---|\n";
  for (const TableColumn& column : model.table->columns)
    text += fmt::format("| {} | {} | {} |\n", printable(column.name), name_of(column.kind),
                        column.inputs());
  return text;
}

// Returns what is recorded of the exported model: the retrained one, or the tested trial.
const event::Model* record_of(std::span<const event::Model> models, const Model& model) {
  const auto number = model.properties.find("model");
  const std::string& trial = model.properties.at("trial");
  const auto found = std::ranges::find_if(models, [&](const event::Model& one) {
    if (number != model.properties.end()) return std::to_string(one.model) == number->second;
    return std::to_string(one.trial) == trial && one.kind == ModelKind::kTestedTrial &&
           fmt::format("{:.6g}", one.epochs) == model.properties.at("epoch");
  });
  return found != models.end() && found->state == ModelState::kComplete ? &*found : nullptr;
}

std::string test_rows(const event::Model& tested) {
  std::string rows;
  for (const event::Interval& interval : tested.intervals) {
    if (const auto value = metric_of(tested, interval.metric))
      rows += fmt::format("| {} | {:.6g} | {:.6g} to {:.6g} |\n", interval.metric, *value,
                          interval.low, interval.high);
  }
  return rows;
}

// Returns how the test metrics vary over the models of one command, which differ in their seeds.
std::string spread_of(std::span<const event::Model> models, const event::Model& one) {
  std::vector<event::Model> siblings;
  for (const event::Model& other : models) {
    if (other.kind == ModelKind::kRetrained && other.first == one.first &&
        other.state == ModelState::kComplete)
      siblings.push_back(other);
  }
  if (one.kind != ModelKind::kRetrained || siblings.size() < 2) return "";
  std::string metrics;
  for (const event::Interval& interval : one.intervals)
    metrics += (metrics.empty() ? "" : ", ") + with_deviation(siblings, interval.metric);
  return fmt::format("\nMean and standard deviation of {} models with other seeds: {}.\n",
                     siblings.size(), metrics);
}

// Returns where a model comes from that is not a trial's own; else nothing.
std::string origin_of(const event::Model& model) {
  if (model.kind == ModelKind::kTestedTrial) return "";
  if (model.kind == ModelKind::kRetrained)
    return fmt::format("\nRetrained: model {}, on {}, from {}.\n", model.model, model.trained_on,
                       model.began_from);
  std::string kind(to_text(model.kind));
  kind[0] = static_cast<char>(std::toupper(kind[0]));
  const std::string parent = model.parent != 0 ? fmt::format("model {}", model.parent)
                                               : fmt::format("trial {}", model.trial);
  return fmt::format("\n{}: model {}, from {}, as asked for by `{}`.\n", kind, model.model, parent,
                     model.settings);
}

Result<std::string> metrics_section(const OpenStudy& study, const Model& model) {
  std::string text = "| metric | value | 95 % interval |\n|---|---|---|\n";
  for (const Metric& metric : model.metrics)
    text += fmt::format("| {} | {:.6g} | |\n", metric.name, metric.value);
  DETOL_ASSIGN(const auto models, models_of(study));
  const event::Model* known = record_of(models, model);
  if (known == nullptr)
    return text + fmt::format("\nIts test metrics are not known: `detol test {} --trial {}`.\n",
                              study.record.name, model.properties.at("trial"));
  text += test_rows(*known) + spread_of(models, *known);
  if (known->kind == ModelKind::kEnsembled) {
    DETOL_ASSIGN(const std::string members, members_text(*known));
    text += fmt::format("\nAn ensemble, model {}: trials and their weights: {}.\n", known->model,
                        members);
  } else {
    text += origin_of(*known);
  }
  return text +
         "\nValidation chose this network among all trials, so its validation metrics are the "
         "luckiest of many; the test part chose nothing.\n";
}

Result<std::string> search_section(const OpenStudy& study, const StudyData& shared,
                                   const Model& model) {
  DETOL_ASSIGN(const Rows row,
               select(study,
                      "SELECT device_seconds, wall_seconds, created_at FROM v_studies WHERE study "
                      "= ?1"));
  DETOL_ASSIGN(const Rows states, select(study,
                                         "SELECT state, count(*) FROM v_trials WHERE study = ?1 "
                                         "GROUP BY state ORDER BY state"));
  DETOL_ASSIGN(const Rows hosts, select(study,
                                        "SELECT DISTINCT h.cpu, h.cores, h.gpus_json FROM v_hosts "
                                        "h JOIN v_runs r ON r.host = h.host WHERE r.study = ?1 "
                                        "ORDER BY h.cpu, h.cores"));
  std::string trials;
  for (const auto& state : states.rows)
    trials +=
        fmt::format("{}{} {}", trials.empty() ? "" : ", ", text_of(state[1]), text_of(state[0]));
  std::string text = fmt::format(
      "Study {}, trial {}, epoch {}; begun {}, algorithm {}, seed {}, budget {}.\n\nAll trials "
      "({}) took {} of device time, {} in all",
      study.record.name, model.properties.at("trial"), model.properties.at("epoch"),
      text_of(row.rows.at(0)[2]), shared.config.algorithm.name, shared.config.seed,
      study.record.budget.empty() ? "unlimited" : study.record.budget, trials,
      duration_of(row.rows.at(0)[0]), duration_of(row.rows.at(0)[1]));
  for (const auto& host : hosts.rows)
    text += fmt::format("; {} cores of {}{}", text_of(host[1]), text_of(host[0]),
                        text_of(host[2]) == "[]" ? "" : ", GPUs " + text_of(host[2]));
  text += ".\n\n| choice | value |\n|---|---|\n";
  for (const auto& [name, value] : model.parameters)
    text += fmt::format("| {} | {} |\n", name, to_text(value));
  return text;
}

}  // namespace

Result<std::string> model_card(const OpenStudy& study, const StudyData& shared,
                               const Model& model) {
  const std::string& trial = model.properties.at("trial");
  DETOL_ASSIGN(const std::string data, data_section(study, shared, model));
  DETOL_ASSIGN(const std::string metrics, metrics_section(study, model));
  DETOL_ASSIGN(const std::string search, search_section(study, shared, model));
  std::size_t params = 0;
  for (const Tensor& tensor : model.weights) params += tensor.data.size();
  return fmt::format(
      "---\nlicense: unknown  # say which\npipeline_tag: {}\nlibrary_name: detol\n---\n\n"
      "# {}, trial {}\n\n{}{} layers, {} numbers.\n\n## Metrics\n\n{}\n## Data\n\n{}\n"
      "## How it was found\n\n{}\n## Use\n\n    detol predict FILE --data PATH\n\n"
      "Or ONNX Runtime: what the file takes and gives is in its metadata (`detol.*`).\n",
      kind_of(model), study.record.name, trial, what_it_is(model), model.network.nodes().size() - 1,
      params, metrics, data, search);
}

}  // namespace detol::inline models
