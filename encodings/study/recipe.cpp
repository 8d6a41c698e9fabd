#include "encodings/study/recipe.h"

#include "core/table.h"

namespace detol::inline encoding {
namespace {

constexpr WordRow<LossKind> kLosses[] = {{"cross_entropy", LossKind::kCrossEntropy},
                                         {"binary_cross_entropy", LossKind::kBinaryCrossEntropy},
                                         {"mse", LossKind::kMse},
                                         {"mae", LossKind::kMae},
                                         {"huber", LossKind::kHuber}};

constexpr WordRow<ClassWeighting> kClassWeightings[] = {{"none", ClassWeighting::kNone},
                                                        {"balanced", ClassWeighting::kBalanced},
                                                        {"sqrt", ClassWeighting::kSqrt}};

constexpr WordRow<ScheduleKind> kSchedules[] = {{"constant", ScheduleKind::kConstant},
                                                {"cosine", ScheduleKind::kCosine},
                                                {"linear", ScheduleKind::kLinear},
                                                {"step", ScheduleKind::kStep},
                                                {"one_cycle", ScheduleKind::kOneCycle}};

constexpr WordRow<RateScaling> kRateScalings[] = {
    {"none", RateScaling::kNone}, {"linear", RateScaling::kLinear}, {"sqrt", RateScaling::kSqrt}};

constexpr WordRow<PrecisionKind> kPrecisions[] = {
    {"fp32", PrecisionKind::kFp32}, {"tf32", PrecisionKind::kTf32}, {"bf16", PrecisionKind::kBf16}};

constexpr WordRow<CompressionKind> kCompressions[] = {{"none", CompressionKind::kNone},
                                                      {"fp16", CompressionKind::kFp16},
                                                      {"top_k", CompressionKind::kTopK}};

}  // namespace

std::span<const OptimizerRow> optimizers() {
  return kOptimizers;
}

std::span<const WordRow<LossKind>> losses() {
  return kLosses;
}

std::span<const WordRow<ClassWeighting>> class_weightings() {
  return kClassWeightings;
}

std::span<const WordRow<ScheduleKind>> schedules() {
  return kSchedules;
}

std::span<const WordRow<RateScaling>> rate_scalings() {
  return kRateScalings;
}

std::span<const WordRow<PrecisionKind>> precisions() {
  return kPrecisions;
}

std::span<const WordRow<CompressionKind>> compression_kinds() {
  return kCompressions;
}

OptimizerKind optimizer_of(const Recipe& recipe) {
  return known_row(optimizers(), recipe.optimizer).kind;
}

ScheduleKind schedule_of(const Recipe& recipe) {
  return known_row(schedules(), recipe.schedule).kind;
}

RateScaling rate_scaling_of(const Recipe& recipe) {
  return known_row(rate_scalings(), recipe.scale_lr).kind;
}

PrecisionKind precision_of(const Recipe& recipe) {
  return known_row(precisions(), recipe.precision).kind;
}

CompressionKind compression_of(const Recipe& recipe) {
  return known_row(compression_kinds(), recipe.compression).kind;
}

int moments_of(const Recipe& recipe) {
  return moments_of(optimizer_of(recipe));
}

LossKind loss_called(std::string_view name) {
  return name == kSoftTargetLoss ? LossKind::kSoftCrossEntropy : known_row(losses(), name).kind;
}

ClassWeighting class_weighting_of(const Recipe& recipe) {
  return known_row(class_weightings(), recipe.class_weights).kind;
}

LossKind training_loss_of(const Recipe& recipe) {
  const LossKind kind = loss_called(recipe.loss);
  const bool is_weighted = class_weighting_of(recipe) != ClassWeighting::kNone;
  return kind == LossKind::kCrossEntropy && is_weighted ? LossKind::kSoftCrossEntropy : kind;
}

}  // namespace detol::inline encoding
