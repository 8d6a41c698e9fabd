#include "encodings/study/objectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/table.h"
#include "encodings/study/json_values.h"
#include "encodings/study/study_fields.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;

constexpr int kDefaultBatch = 1;

// ListReader reads the items of one list, each of which names a metric.
class ListReader {
 public:
  ListReader(std::string_view name, const YamlNode& nodes, const YamlSource& source,
             StudyConfig& study)
      : name_(name), nodes_(nodes), source_(source), study_(study), known_(own_metrics_of(study)) {
    const auto costs = known_costs(study);
    known_.insert(known_.end(), costs.begin(), costs.end());
  }

  // Checks the item's metric, and reads how it is measured.
  Result<std::string> metric(std::size_t i, const json& item) {
    const std::string metric = item.at("metric");
    if (!study_.ends_by_itself() && std::ranges::find(known_, metric) == known_.end())
      return error(i, "metric", unknown_name("word", metric, known_));
    DETOL_TRY(read_batch(i, item, metric));
    DETOL_TRY(read_target(i, item, metric));
    return metric;
  }

  tl::unexpected<Error> error(std::size_t i, std::string_view key, std::string_view what) const {
    const YamlEntry* entry = nodes_.items[i].find(key);
    return source_.error(entry == nullptr ? nodes_.items[i].at : entry->value.at,
                         fmt::format("{}[{}].{}: {}", name_, i, key, what));
  }

 private:
  bool is_measured(std::string_view metric, std::string_view one) const {
    return study_.trains() && metric == one;
  }

  Result<void> read_batch(std::size_t i, const json& item, std::string_view metric) {
    const bool is_written = item.contains("batch");
    if (!is_measured(metric, "latency"))
      return is_written ? Result<void>(error(i, "batch", "it is a key of the metric latency"))
                        : Result<void>();
    const int batch =
        item.value("batch", study_.latency_batch > 0 ? study_.latency_batch : kDefaultBatch);
    if (study_.latency_batch > 0 && study_.latency_batch != batch)
      return error(i, "batch",
                   fmt::format("latency is measured at one batch, and elsewhere it is {}",
                               study_.latency_batch));
    study_.latency_batch = batch;
    return {};
  }

  Result<void> read_target(std::size_t i, const json& item, std::string_view metric) {
    const bool is_written = item.contains("target");
    if (!is_measured(metric, "epochs_to_target"))
      return is_written
                 ? Result<void>(error(i, "target", "it is a key of the metric epochs_to_target"))
                 : Result<void>();
    if (!is_written) {
      if (study_.epochs_target) return {};
      return error(i, "target", "epochs_to_target needs it, such as target: val_accuracy>=0.9");
    }
    const auto target = parse_target(item.at("target").get<std::string>());
    if (!target) return error(i, "target", target.error().message);
    const std::vector<std::string_view> reported = own_metrics_of(study_);
    if (std::ranges::find(reported, target->metric) == reported.end())
      return error(i, "target", unknown_name("metric", target->metric, reported));
    if (study_.epochs_target && to_text(*study_.epochs_target) != to_text(*target))
      return error(
          i, "target",
          "epochs_to_target has one target, and elsewhere it is " + to_text(*study_.epochs_target));
    study_.epochs_target = *target;
    return {};
  }

  const std::string_view name_;
  const YamlNode& nodes_;
  const YamlSource& source_;
  StudyConfig& study_;
  std::vector<std::string_view> known_;
};

Result<void> read_list_of_objectives(const json& list, const YamlNode& nodes,
                                     const YamlSource& source, StudyConfig& study) {
  if (list.empty()) return source.error(nodes.at, "objectives is empty");
  ListReader reader("objectives", nodes, source, study);
  for (std::size_t i = 0; i < list.size(); ++i) {
    DETOL_ASSIGN(const std::string metric, reader.metric(i, list[i]));
    const bool maximizes = list[i].at("direction") == "maximize";
    if (std::ranges::find(study.objectives, metric, &Objective::metric) != study.objectives.end())
      return source.error(nodes.items[i].at, fmt::format("objectives: {} is there twice", metric));
    study.objectives.push_back(maximizes ? maximize(metric) : minimize(metric));
    if (list[i].contains("reference"))
      study.objectives.back().reference = list[i].at("reference").get<double>();
  }
  return {};
}

// A limit on what follows from the network refuses a candidate before it is trained, too.
void tighten(StudyConfig& study, const MetricConstraint& one) {
  const auto costs = known_costs(study);
  if (!one.high || std::ranges::find(costs, one.metric) == costs.end()) return;
  Constraints& constraints = study.constraints;
  if (one.metric == "params") constraints.max_params = std::min(constraints.max_params, *one.high);
  if (one.metric == "flops") constraints.max_flops = std::min(constraints.max_flops, *one.high);
  if (one.metric == "memory") constraints.max_memory = std::min(constraints.max_memory, *one.high);
}

Result<void> read_list_of_constraints(const json& list, const YamlNode& nodes,
                                      const YamlSource& source, StudyConfig& study) {
  ListReader reader("constraints", nodes, source, study);
  for (std::size_t i = 0; i < list.size(); ++i) {
    MetricConstraint one;
    DETOL_ASSIGN(one.metric, reader.metric(i, list[i]));
    if (list[i].contains("min")) one.low = list[i].at("min").get<double>();
    if (list[i].contains("max")) one.high = list[i].at("max").get<double>();
    if (!one.low && !one.high)
      return reader.error(i, "max", "a constraint needs 'min', 'max' or both");
    if (one.low && one.high && *one.low > *one.high)
      return reader.error(i, "min", fmt::format("{} is above max, {}", *one.low, *one.high));
    tighten(study, one);
    study.metric_constraints.push_back(std::move(one));
  }
  return {};
}

}  // namespace

Result<void> read_objectives(const json& file, const YamlNode& tree, const YamlSource& source,
                             StudyConfig& study) {
  if (study.function && !file.contains("objectives")) {
    for (std::string_view metric : own_metrics_of(study))
      study.objectives.push_back(minimize(std::string(metric)));
  } else {
    DETOL_TRY(read_list_of_objectives(file.at("objectives"), *node_at(tree, {"objectives"}), source,
                                      study));
  }
  if (!file.contains("constraints")) return {};
  return read_list_of_constraints(file.at("constraints"), *node_at(tree, {"constraints"}), source,
                                  study);
}

Constraints limits_of(const json& architecture) {
  Constraints limits;
  const json& written = section_of(architecture, "constraints");
  limits.max_params = written.value("max_params", limits.max_params);
  limits.max_flops = written.value("max_flops", limits.max_flops);
  limits.max_memory = written.value("max_memory", limits.max_memory);
  return limits;
}

bool weighs(const StudyConfig& config, std::string_view metric) {
  const auto is_it = [metric](const auto& one) { return one.metric == metric; };
  return std::ranges::any_of(config.objectives, is_it) ||
         std::ranges::any_of(config.metric_constraints, is_it);
}

std::span<const std::string_view> known_costs(const StudyConfig& config) {
  const std::span<const std::string_view> all = kCostMetrics;
  return config.trains() ? all : all.first(config.has_networks() ? 2 : 0);
}

std::vector<std::string_view> reported_metrics(const StudyConfig& config) {
  return own_metrics_of(config);
}

std::vector<std::string_view> metric_names(const StudyConfig& config) {
  std::vector<std::string_view> names = own_metrics_of(config);
  for (std::string_view cost : known_costs(config)) {
    if (weighs(config, cost)) names.push_back(cost);
  }
  if (!config.metric_constraints.empty()) names.push_back(kViolationMetric);
  return names;
}

}  // namespace detol::inline encoding
