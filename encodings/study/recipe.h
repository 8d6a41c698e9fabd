#pragma once

// Recipe: how a candidate is trained: everything but the network and the seed. Concrete:
// every choice of the space is made. A value type.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encodings/study/optimizers.h"

namespace detol::inline encoding {

struct Recipe {
  std::string optimizer = "sgd";  // a name of optimizers()
  double lr = 0.1;                // at this batch size, after warm-up
  double momentum = 0.9;          // adam, adamw: beta1
  bool nesterov = true;           // sgd
  double beta2 = 0.999;           // adam, adamw; rmsprop: its alpha
  double epsilon = 1e-8;          // adam, adamw, rmsprop
  double weight_decay = 0;        // adamw: decoupled; others: added to the gradient
  double trust = 0.001;           // lars: its trust coefficient
  std::int64_t batch_size = 64;   // global, over all ranks of a group

  int epochs = 1;  // full length; the schedule ends here
  // Reports inside the first epoch: n stands for one after 1/n of it.
  std::vector<int> early_reports = {};
  std::string loss = "cross_entropy";  // a name of losses() that suits the task
  double label_smoothing = 0;          // [0, 1)
  // A name of class_weightings(): by how much a training image of each class counts.
  std::string class_weights = "none";
  std::string schedule = "cosine";   // a name of schedules()
  double warmup_epochs = 0;          // linear from zero, within `epochs`
  std::vector<int> milestones = {};  // step: the epochs after which the rate falls
  int every_epochs = 30;             // step without milestones: epochs between two falls
  double gamma = 0.1;                // step: the factor of each fall
  double rise = 0.3;                 // one_cycle: the share of the steps in which the rate rises
  double divisor = 25;               // one_cycle: the first rate is lr / divisor
  double final_divisor = 1e4;        // one_cycle: the last rate is the first / final_divisor
  std::string scale_lr = "none";     // a name of rate_scalings(): how lr grows with batch_size
  std::int64_t base_batch = 256;     // scale_lr: the batch size at which lr is unchanged
  std::string precision = "fp32";    // a name of precisions()
  bool deterministic = true;
  double clip_norm = 0;          // gradients are scaled down to at most this norm; 0: never
  double ema = 0;                // decay of the averaged weights that are evaluated; 0: no average
  bool sync_batch_norm = false;  // statistics of the batch of all ranks, not of each rank's shard
  std::string compression = "none";  // a name of compression_kinds(): of gradients between ranks
  double compression_share = 0.01;   // top_k: the share of the gradients that a step sends
  int staleness = 0;                 // steps by which updates lag behind their gradients

  int crop_padding = 0;          // random crop after zero padding on every side, in pixels
  bool horizontal_flip = false;  // with probability 1/2
  int cutout = 0;                // side of the square that is hidden in every image; 0: none
  double mixup = 0;              // images are blended by weights from Beta(mixup, mixup); 0: never
};

// The name of a cross-entropy whose targets are a number for each class: a teacher's probabilities,
// or a class by its weight. No space names it.
inline constexpr std::string_view kSoftTargetLoss = "soft_cross_entropy";

enum class LossKind { kCrossEntropy, kBinaryCrossEntropy, kMse, kMae, kHuber, kSoftCrossEntropy };
enum class ClassWeighting { kNone, kBalanced, kSqrt };
enum class ScheduleKind { kConstant, kCosine, kLinear, kStep, kOneCycle };
enum class RateScaling { kNone, kLinear, kSqrt };
enum class PrecisionKind { kFp32, kTf32, kBf16 };
enum class CompressionKind { kNone, kFp16, kTopK };

// WordRow maps a word of a recipe to its kind.
template <typename Kind>
struct WordRow {
  std::string_view name;
  Kind kind;
};

// Return the tables of all words that a recipe may have; no other place lists them.
std::span<const OptimizerRow> optimizers();
std::span<const WordRow<LossKind>> losses();
std::span<const WordRow<ClassWeighting>> class_weightings();
std::span<const WordRow<ScheduleKind>> schedules();
std::span<const WordRow<RateScaling>> rate_scalings();
std::span<const WordRow<PrecisionKind>> precisions();
std::span<const WordRow<CompressionKind>> compression_kinds();

// REQUIRES: the words of the recipe are known (check_words of training_settings.h).
OptimizerKind optimizer_of(const Recipe& recipe);
ScheduleKind schedule_of(const Recipe& recipe);
RateScaling rate_scaling_of(const Recipe& recipe);
PrecisionKind precision_of(const Recipe& recipe);
CompressionKind compression_of(const Recipe& recipe);
int moments_of(const Recipe& recipe);
LossKind loss_called(std::string_view name);  // kSoftTargetLoss, too
ClassWeighting class_weighting_of(const Recipe& recipe);

// Returns the loss that training minimises: the recipe's, with soft targets where classes have
// weights.
LossKind training_loss_of(const Recipe& recipe);

}  // namespace detol::inline encoding
