#include "encodings/study/study_fields.h"

#include <array>

#include "core/table.h"
#include "encodings/study/study_config.h"

namespace detol {
namespace {

using Words = std::string_view;
using enum FieldKind;

constexpr double kMostInt = 0x1p62;

constexpr std::array kSplit = {
    Field{.key = "validation", .kind = kNumber, .low = 0.001, .high = 0.9},
    Field{.key = "test", .kind = kNumber, .low = 0.001, .high = 0.9}};

constexpr std::array kCrop = {Field{
    .key = "padding", .kind = kInt, .required = true, .may_be_domain = true, .low = 0, .high = 64}};

constexpr std::array kCutout = {Field{
    .key = "size", .kind = kInt, .required = true, .may_be_domain = true, .low = 0, .high = 1024}};

constexpr std::array kAugment = {
    Field{.key = "random_crop", .kind = kSection, .children = kCrop},
    Field{.key = "cutout", .kind = kSection, .children = kCutout},
    Field{.key = "horizontal_flip", .kind = kBool, .may_be_domain = true}};

// Of tasks(), whose order it has.
constexpr std::array<Words, 4> kTaskNames = {"classification", "binary", "multi_label",
                                             "regression"};

constexpr std::array<Words, 2> kLayouts = {"chw", "hwc"};

constexpr std::array kData = {
    Field{.key = "format", .kind = kWord, .required = true},
    Field{.key = "path", .kind = kWord},
    Field{.key = "source", .kind = kWord},
    Field{.key = "task", .kind = kWord, .words = kTaskNames},
    Field{.key = "label", .kind = kTextOrTexts},
    Field{.key = "sequence", .kind = kBool},
    Field{.key = "test_path", .kind = kWord},
    Field{.key = "layout", .kind = kWord, .words = kLayouts},
    Field{.key = "images", .kind = kWord},
    Field{.key = "size", .kind = kInt, .low = 1, .high = 4096},
    Field{.key = "channels", .kind = kInt, .low = 1, .high = 3, .odd = true},
    Field{.key = "split", .kind = kSection, .children = kSplit},
    Field{.key = "augment", .kind = kSection, .children = kAugment}};

constexpr std::array<Words, 4> kOptimizers = {"sgd", "adamw", "rmsprop", "lars"};

// How a candidate is trained, as far as it may be searched; the defaults are Recipe's.
constexpr std::array kParameters = {
    Field{.key = "optimizer", .kind = kWord, .may_be_domain = true, .words = kOptimizers},
    Field{.key = "lr", .kind = kNumber, .may_be_domain = true, .low = 1e-12, .high = 1e3},
    Field{.key = "momentum", .kind = kNumber, .may_be_domain = true, .low = 0, .high = 0.9999},
    Field{.key = "nesterov", .kind = kBool, .may_be_domain = true},
    Field{.key = "beta2", .kind = kNumber, .may_be_domain = true, .low = 0, .high = 0.999999},
    Field{.key = "epsilon", .kind = kNumber, .may_be_domain = true, .low = 1e-12, .high = 1},
    Field{.key = "weight_decay", .kind = kNumber, .may_be_domain = true, .low = 0, .high = 10},
    Field{.key = "trust", .kind = kNumber, .may_be_domain = true, .low = 1e-6, .high = 10},
    Field{.key = "batch_size", .kind = kInt, .may_be_domain = true, .low = 1, .high = 65536},
    Field{.key = "label_smoothing", .kind = kNumber, .may_be_domain = true, .low = 0, .high = 0.9}};

// Which of them suit a task, its row knows.
constexpr std::array<Words, 5> kLosses = {"cross_entropy", "binary_cross_entropy", "mse", "mae",
                                          "huber"};
constexpr std::array<Words, 5> kSchedules = {"constant", "cosine", "linear", "step", "one_cycle"};
constexpr std::array<Words, 3> kPrecisions = {"fp32", "tf32", "bf16"};

constexpr std::array kSchedule = {
    Field{.key = "warmup_epochs", .kind = kNumber, .may_be_domain = true, .low = 0, .high = 10000},
    Field{.key = "milestones", .kind = kInts, .low = 1, .high = 100000},
    Field{.key = "every_epochs", .kind = kInt, .may_be_domain = true, .low = 1, .high = 100000},
    Field{.key = "gamma", .kind = kNumber, .may_be_domain = true, .low = 1e-6, .high = 1},
    Field{.key = "rise", .kind = kNumber, .may_be_domain = true, .low = 0, .high = 0.99},
    Field{.key = "divisor", .kind = kNumber, .may_be_domain = true, .low = 1, .high = 1e6},
    Field{.key = "final_divisor", .kind = kNumber, .may_be_domain = true, .low = 1, .high = 1e9}};

constexpr std::array<Words, 3> kScalings = {"none", "linear", "sqrt"};

constexpr std::array kScaling = {
    Field{.key = "base_batch", .kind = kInt, .may_be_domain = true, .low = 1, .high = 65536}};

// Of compressions(), in trainer/.
constexpr std::array<Words, 3> kCompressions = {"none", "fp16", "top_k"};

constexpr std::array kCompression = {
    Field{.key = "share", .kind = kNumber, .may_be_domain = true, .low = 1e-6, .high = 1}};

constexpr std::array kTraining = {
    Field{.key = "epochs",
          .kind = kInt,
          .required = true,
          .may_be_domain = true,
          .low = 1,
          .high = 100000},
    Field{.key = "loss", .kind = kWord, .may_be_domain = true, .words = kLosses},
    Field{.key = "schedule",
          .kind = kNamed,
          .may_be_domain = true,
          .words = kSchedules,
          .children = kSchedule},
    Field{.key = "scale_lr",
          .kind = kNamed,
          .may_be_domain = true,
          .words = kScalings,
          .children = kScaling},
    Field{.key = "clip_norm", .kind = kNumber, .may_be_domain = true, .low = 0, .high = 1e6},
    Field{.key = "ema", .kind = kNumber, .may_be_domain = true, .low = 0, .high = 0.999999},
    Field{.key = "mixup", .kind = kNumber, .may_be_domain = true, .low = 0, .high = 100},
    Field{.key = "precision", .kind = kWord, .may_be_domain = true, .words = kPrecisions},
    Field{.key = "deterministic", .kind = kBool},
    Field{.key = "sync_batch_norm", .kind = kBool},
    Field{.key = "compression",
          .kind = kNamed,
          .may_be_domain = true,
          .words = kCompressions,
          .children = kCompression},
    Field{.key = "staleness", .kind = kInt, .may_be_domain = true, .low = 0, .high = 16}};

constexpr std::array<Words, 2> kDirections = {"maximize", "minimize"};

constexpr Field kDirection = {
    .key = "direction", .kind = kWord, .required = true, .words = kDirections};

// Which metrics there are, metric_names() knows.
constexpr std::array kObjective = {Field{.key = "metric", .kind = kWord, .required = true},
                                   kDirection};

constexpr std::array<Words, 2> kWarmStarts = {"auto", "none"};

constexpr std::array kSearch = {Field{.key = "algorithm", .kind = kNamed},
                                Field{.key = "pruner", .kind = kNamed},
                                Field{.key = "initial_trials", .kind = kFree},
                                Field{.key = "warm_start", .kind = kWord, .words = kWarmStarts},
                                Field{.key = "repeats", .kind = kInt, .low = 0, .high = 1000}};

constexpr std::array<Words, 1> kAuto = {"auto"};

constexpr std::array kResources = {
    Field{.key = "workers", .kind = kInt, .low = 1, .high = 100000, .words = kAuto},
    Field{.key = "group_size", .kind = kInt, .low = 1, .high = 100000, .words = kAuto},
    Field{.key = "max_trial_duration", .kind = kDuration, .low = 0},
    Field{.key = "attempts", .kind = kInt, .low = 1, .high = 100}};

constexpr std::array kConstraints = {Field{.key = "max_params", .kind = kNumber, .low = 1},
                                     Field{.key = "max_flops", .kind = kNumber, .low = 1},
                                     Field{.key = "max_memory", .kind = kSize, .low = 1}};

constexpr std::array kArchitecture = {
    Field{.key = "type", .kind = kWord, .required = true},
    Field{.key = "constraints", .kind = kSection, .children = kConstraints}};

constexpr Field kVersion = {.key = "version", .kind = kInt, .required = true, .low = 1, .high = 1};
constexpr Field kName = {.key = "study", .kind = kWord, .required = true};
constexpr Field kSeed = {.key = "seed", .kind = kInt, .low = 0, .high = kMostInt};
constexpr Field kSearchKey = {.key = "search", .kind = kSection, .children = kSearch};
constexpr Field kBudget = {.key = "budget", .kind = kWord};
constexpr Field kResourcesKey = {.key = "resources", .kind = kSection, .children = kResources};

constexpr std::array kStudy = {
    kVersion,
    kName,
    kSeed,
    Field{.key = "data", .kind = kSection, .required = true, .children = kData},
    Field{.key = "architecture", .kind = kSection, .required = true},
    Field{.key = "parameters", .kind = kSection, .children = kParameters},
    Field{.key = "training", .kind = kSection, .required = true, .children = kTraining},
    Field{.key = "objectives", .kind = kList, .required = true, .children = kObjective},
    kSearchKey,
    kBudget,
    kResourcesKey};

constexpr std::array kTable = {
    Field{.key = "path", .kind = kWord}, Field{.key = "source", .kind = kWord},
    Field{.key = "key", .kind = kFree, .required = true},
    Field{.key = "metrics", .kind = kTexts, .required = true}, Field{.key = "cost", .kind = kWord}};

constexpr std::array kTableStudy = {
    kVersion,
    kName,
    kSeed,
    Field{.key = "table", .kind = kSection, .required = true, .children = kTable},
    Field{.key = "architecture", .kind = kSection},
    Field{.key = "parameters", .kind = kChoices},
    Field{.key = "objectives", .kind = kList, .required = true, .children = kObjective},
    kSearchKey,
    kBudget,
    kResourcesKey};

constexpr std::array kFunctionStudy = {
    kVersion,
    kName,
    kSeed,
    Field{.key = "function", .kind = kSection, .required = true},
    Field{.key = "objectives", .kind = kList, .children = kObjective},
    kSearchKey,
    kBudget,
    kResourcesKey};

}  // namespace

std::vector<std::string_view> metric_names(const StudyConfig& config) {
  if (config.table) {
    std::vector<std::string_view> names;
    for (const MetricColumn& one : config.table->metrics) names.push_back(one.metric);
    return names;
  }
  std::span<const Words> names = row_of(config.data.task).metrics;
  if (config.function) {
    const FunctionConfig& function = *config.function;
    names = find_row(functions(), function.name)->metrics(function);
  }
  return {names.begin(), names.end()};
}

std::span<const Field> study_fields() {
  return kStudy;
}

std::span<const Field> function_study_fields() {
  return kFunctionStudy;
}

std::span<const Field> table_study_fields() {
  return kTableStudy;
}

std::span<const Field> architecture_fields() {
  return kArchitecture;
}

}  // namespace detol
