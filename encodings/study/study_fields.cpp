#include "encodings/study/study_fields.h"

#include <algorithm>
#include <array>

#include "core/table.h"
#include "encodings/common/encoding.h"
#include "encodings/study/function.h"
#include "encodings/study/study_config.h"
#include "encodings/study/training_settings.h"

namespace detol::inline encoding {
namespace {

using Words = std::string_view;
using enum FieldKind;

constexpr double kMostInt = 0x1p62;

constexpr std::array<Words, 4> kSplits = {"random", "stratified", "group", "time"};

constexpr std::array kSplit = {
    Field{.key = "validation", .kind = kNumber, .low = 0.001, .high = 0.9},
    Field{.key = "test", .kind = kNumber, .low = 0.001, .high = 0.9},
    Field{.key = "by", .kind = kWord, .words = kSplits},
    Field{.key = "column", .kind = kWord},
    Field{.key = "seed", .kind = kInt, .low = 0, .high = kMostInt},
    Field{.key = "folds", .kind = kInt, .low = 2, .high = 100},
    Field{.key = "fold", .kind = kInt, .low = 0, .high = 99}};

constexpr std::array<Words, 3> kNumberEncodings = {"standard", "quantile", "piecewise"};

constexpr std::array kColumns = {Field{.key = "use", .kind = kTextOrTexts},
                                 Field{.key = "drop", .kind = kTextOrTexts},
                                 Field{.key = "types", .kind = kTexts},
                                 Field{.key = "numbers", .kind = kWord, .words = kNumberEncodings},
                                 Field{.key = "bins", .kind = kInt, .low = 2, .high = 1024}};

// The names of tasks(), in their order.
constexpr std::array<Words, 4> kTaskNames = {"classification", "binary", "multi_label",
                                             "regression"};

// The names of picture_fits(), in their order.
constexpr std::array<Words, 3> kFits = {"crop", "pad", "stretch"};

constexpr std::array<Words, 2> kLayouts = {"chw", "hwc"};
constexpr std::array<Words, 3> kMissingLabels = {"error", "drop", "class"};

constexpr std::array<Words, 2> kDirections = {"maximize", "minimize"};

constexpr Field kDirection = {
    .key = "direction", .kind = kWord, .required = true, .words = kDirections};

// The accepted metrics follow from the data, see objectives.h.
constexpr Field kMetric = {.key = "metric", .kind = kWord, .required = true};
constexpr Field kLatencyBatch = {.key = "batch", .kind = kInt, .low = 1, .high = 4096};
constexpr Field kEpochsTarget = {.key = "target", .kind = kWord};

constexpr std::array kObjective = {kMetric, kDirection, kLatencyBatch, kEpochsTarget,
                                   Field{.key = "reference", .kind = kNumber}};

constexpr std::array kMetricConstraint = {kMetric, Field{.key = "min", .kind = kNumber},
                                          Field{.key = "max", .kind = kNumber}, kLatencyBatch,
                                          kEpochsTarget};

constexpr Field kMetricConstraints = {
    .key = "constraints", .kind = kList, .children = kMetricConstraint};

constexpr std::array<Words, 2> kFinalChoices = {"auto", "none"};

constexpr std::array kSearch = {
    Field{.key = "algorithm", .kind = kNamed},
    Field{.key = "pruner", .kind = kNamed},
    Field{.key = "initial_trials", .kind = kFree},
    Field{.key = "warm_start", .kind = kFree},
    Field{.key = "repeats", .kind = kInt, .low = 0, .high = 1000},
    Field{.key = "final_choice", .kind = kWord, .words = kFinalChoices}};

// The names of Inherit, in their order.
constexpr std::array<Words, 3> kInherit = {"none", "parent", "nearest"};

// Of studies that train.
constexpr auto kTrainingSearch = [] {
  std::array<Field, kSearch.size() + 1> fields;
  std::ranges::copy(kSearch, fields.begin());
  fields.back() = {.key = "inherit", .kind = kWord, .words = kInherit};
  return fields;
}();

constexpr std::array<Words, 1> kAuto = {"auto"};

constexpr std::array kResources = {
    Field{.key = "workers", .kind = kInt, .low = 1, .high = 100000, .words = kAuto},
    Field{.key = "group_size", .kind = kInt, .low = 1, .high = 100000, .words = kAuto},
    Field{.key = "max_trial_duration", .kind = kDuration, .low = 0},
    Field{.key = "attempts", .kind = kInt, .low = 1, .high = 100}};

constexpr std::array kConstraints = {Field{.key = "max_params", .kind = kNumber, .low = 1},
                                     Field{.key = "max_flops", .kind = kNumber, .low = 1},
                                     Field{.key = "max_memory", .kind = kSize, .low = 1}};

constexpr std::array kArchitectureFields = {
    Field{.key = "type", .kind = kWord, .required = true},
    Field{.key = "constraints", .kind = kSection, .children = kConstraints}};

constexpr Field kVersion = {.key = "version", .kind = kInt, .required = true, .low = 1, .high = 1};
constexpr Field kName = {.key = "study", .kind = kWord, .required = true};
constexpr Field kSeed = {.key = "seed", .kind = kInt, .low = 0, .high = kMostInt};
constexpr Field kSearchKey = {.key = "search", .kind = kSection, .children = kSearch};
constexpr Field kBudget = {.key = "budget", .kind = kWord};
constexpr Field kResourcesKey = {.key = "resources", .kind = kSection, .children = kResources};

constexpr std::array kTable = {
    Field{.key = "path", .kind = kWord}, Field{.key = "source", .kind = kWord},
    Field{.key = "key", .kind = kFree, .required = true},
    Field{.key = "metrics", .kind = kTexts, .required = true}, Field{.key = "cost", .kind = kWord}};

// The names of stop_signals(), in their order.
constexpr std::array<Words, 5> kStopSignalNames = {"TERM", "INT", "HUP", "USR1", "USR2"};

constexpr std::array kStop = {Field{.key = "signal", .kind = kWord, .words = kStopSignalNames},
                              Field{.key = "grace", .kind = kDuration, .low = 0}};

constexpr std::array<Words, 2> kKept = {"best", "last"};

constexpr std::array<Words, 2> kBound = {"cores", "none"};

// What the networks of a command or an external study read and give; network_task_of checks it.
constexpr Field kInput = {.key = "input", .kind = kFree};
constexpr Field kOutputs = {.key = "outputs", .kind = kInt, .low = 1, .high = kMostExtent};
constexpr Field kTask = {.key = "task", .kind = kWord, .words = kTaskNames};

constexpr std::array kCommand = {Field{.key = "run", .kind = kFree, .required = true},
                                 Field{.key = "resume", .kind = kFree},
                                 Field{.key = "launch", .kind = kFree},
                                 Field{.key = "bind", .kind = kWord, .words = kBound},
                                 Field{.key = "folder", .kind = kWord},
                                 Field{.key = "steps", .kind = kInt, .low = 1, .high = kEndless},
                                 Field{.key = "keep", .kind = kWord, .words = kKept},
                                 Field{.key = "prints", .kind = kTexts},
                                 Field{.key = "environment", .kind = kTexts},
                                 Field{.key = "success", .kind = kInts, .low = 0, .high = 255},
                                 Field{.key = "stop", .kind = kSection, .children = kStop},
                                 kInput,
                                 kOutputs,
                                 kTask};

constexpr std::array kExternal = {Field{.key = "steps", .kind = kInt, .low = 1, .high = kEndless},
                                  Field{.key = "keep", .kind = kWord, .words = kKept}, kInput,
                                  kOutputs, kTask};

// Returns the keys of a file whose candidates others evaluate, as its section `evaluation` says.
constexpr std::array<Field, 11> evaluated_study(const Field& evaluation) {
  return {kVersion,
          kName,
          kSeed,
          evaluation,
          Field{.key = "architecture", .kind = kSection},
          Field{.key = "parameters", .kind = kChoices},
          Field{.key = "objectives", .kind = kList, .required = true, .children = kObjective},
          kMetricConstraints,
          kSearchKey,
          kBudget,
          kResourcesKey};
}

constexpr std::array kTableStudy =
    evaluated_study({.key = "table", .kind = kSection, .required = true, .children = kTable});
constexpr std::array kCommandStudy =
    evaluated_study({.key = "command", .kind = kSection, .required = true, .children = kCommand});
constexpr std::array kExternalStudy =
    evaluated_study({.key = "external", .kind = kSection, .required = true, .children = kExternal});

constexpr std::array kFunctionStudy = {
    kVersion,
    kName,
    kSeed,
    Field{.key = "function", .kind = kSection, .required = true},
    Field{.key = "objectives", .kind = kList, .children = kObjective},
    kMetricConstraints,
    kSearchKey,
    kBudget,
    kResourcesKey};

// The settings of the recipe, and which epoch of a training counts.
std::span<const Field> training_fields() {
  static const std::vector<Field> kFields = [] {
    const std::span<const Field> settings = settings_fields("training");
    std::vector<Field> fields(settings.begin(), settings.end());
    fields.push_back({.key = "keep", .kind = kWord, .words = kKept});
    return fields;
  }();
  return kFields;
}

std::span<const Field> data_fields() {
  static const std::array kData = {
      Field{.key = "format", .kind = kWord, .required = true},
      Field{.key = "path", .kind = kWord},
      Field{.key = "source", .kind = kWord},
      Field{.key = "task", .kind = kWord, .words = kTaskNames},
      Field{.key = "label", .kind = kTextOrTexts},
      Field{.key = "sequence", .kind = kBool},
      Field{.key = "test_path", .kind = kWord},
      Field{.key = "missing_label", .kind = kWord, .words = kMissingLabels},
      Field{.key = "separator", .kind = kWord},
      Field{.key = "decimal", .kind = kWord},
      Field{.key = "header", .kind = kBool},
      Field{.key = "columns", .kind = kSection, .children = kColumns},
      Field{.key = "layout", .kind = kWord, .words = kLayouts},
      Field{.key = "images", .kind = kWord},
      Field{.key = "size", .kind = kInt, .low = 1, .high = 4096},
      Field{.key = "fit", .kind = kWord, .words = kFits},
      Field{.key = "channels", .kind = kInt, .low = 1, .high = 3, .odd = true},
      Field{.key = "split", .kind = kSection, .children = kSplit},
      Field{.key = "augment", .kind = kSection, .children = settings_fields("data.augment")}};
  return kData;
}

}  // namespace

Inherit inherit_from(std::string_view word) {
  return static_cast<Inherit>(std::ranges::find(kInherit, word) - kInherit.begin());
}

std::vector<std::string_view> own_metrics_of(const StudyConfig& config) {
  if (config.table) {
    std::vector<std::string_view> names;
    for (const MetricColumn& one : config.table->metrics) names.push_back(one.metric);
    return names;
  }
  if (config.ends_by_itself()) {
    std::vector<std::string_view> names;
    const auto costs = known_costs(config);
    const auto add = [&](std::string_view metric) {
      const bool is_known = std::ranges::find(costs, metric) != costs.end();
      if (!is_known && std::ranges::find(names, metric) == names.end()) names.push_back(metric);
    };
    for (const Objective& one : config.objectives) add(one.metric);
    for (const MetricConstraint& one : config.metric_constraints) add(one.metric);
    return names;
  }
  if (config.function) {
    const FunctionConfig& function = *config.function;
    const std::span<const Words> names = find_row(functions(), function.name)->metrics(function);
    return {names.begin(), names.end()};
  }
  const std::span<const Words> of_task = row_of(config.data.task).metrics;
  return {of_task.begin(), of_task.end()};
}

namespace {

std::span<const Field> training_study() {
  static const std::array kStudy = {
      kVersion,
      kName,
      kSeed,
      Field{.key = "data", .kind = kSection, .required = true, .children = data_fields()},
      Field{.key = "architecture", .kind = kSection, .required = true},
      Field{.key = "parameters", .kind = kSection, .children = settings_fields("parameters")},
      Field{.key = "training", .kind = kSection, .required = true, .children = training_fields()},
      Field{.key = "objectives", .kind = kList, .required = true, .children = kObjective},
      kMetricConstraints,
      Field{.key = "search", .kind = kSection, .children = kTrainingSearch},
      kBudget,
      kResourcesKey};
  return kStudy;
}

}  // namespace

std::span<const StudyKind> study_kinds() {
  static const std::array kKinds = {StudyKind{"function", kFunctionStudy},
                                    StudyKind{"table", kTableStudy},
                                    StudyKind{"command", kCommandStudy, /*needs_choices=*/true},
                                    StudyKind{"external", kExternalStudy, /*needs_choices=*/true},
                                    StudyKind{"data", training_study()}};
  return kKinds;
}

std::vector<Field> architecture_fields(const EncodingRow* encoding) {
  std::vector<Field> fields(kArchitectureFields.begin(), kArchitectureFields.end());
  if (encoding != nullptr)
    fields.insert(fields.end(), encoding->schema.begin(), encoding->schema.end());
  return fields;
}

std::vector<Field> function_fields(const FunctionRow* function, std::span<const Words> names) {
  std::vector<Field> fields = {{.key = "name", .required = true, .words = names}};
  if (function != nullptr)
    fields.insert(fields.end(), function->options.begin(), function->options.end());
  return fields;
}

}  // namespace detol::inline encoding
