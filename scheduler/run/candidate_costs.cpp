#include "scheduler/run/candidate_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/host.h"
#include "scheduler/launchers/gpus.h"
#include "trainer/training_memory.h"

namespace detol::inline scheduler {
namespace {

// Room is the memory in which a network can be trained.
struct Room {
  double bytes = std::numeric_limits<double>::infinity();
  std::string_view where = "this machine has";
};

// Returns the memory of a worker as far as it is known here: the machine's, or a share of a GPU.
Room room_of(const RunOptions& options) {
  if (!options.gpus.empty()) return {share_of_gpu(options), "a worker's share of a GPU is"};
  if (options.launcher != Launcher::kLocal) return {};
  return {static_cast<double>(memory_bytes())};
}

// Returns the bytes that a training needs. The plan counts floats. In bf16, weights, gradients,
// moments and average stay floats, weights and gradients also have a bf16 copy, and the rest is
// half as large.
double bytes_of(const Candidate& candidate) {
  const Recipe& recipe = candidate.recipe;
  const auto all = static_cast<double>(candidate.cost.memory.value_or(0));
  if (precision_of(recipe) != PrecisionKind::kBf16) return all;
  const auto params = static_cast<double>(candidate.cost.params);
  const double copies = 2 + moments_of(recipe) + (recipe.ema > 0 ? 1 : 0);
  const double kept = params * copies * sizeof(float);
  return kept + params * sizeof(float) + std::max(0.0, all - kept) / 2;
}

constexpr std::array<std::string_view, 3> kOfNetwork = {"params", "flops", "memory"};

// Returns nullopt if the memory cannot be planned.
std::optional<double> cost_of(const Candidate& candidate, std::string_view metric) {
  if (metric == "params") return static_cast<double>(candidate.cost.params);
  if (metric == "flops") return static_cast<double>(candidate.cost.flops);
  const auto planned = with_training_memory(candidate, {});
  return planned ? std::optional(bytes_of(*planned)) : std::nullopt;
}

}  // namespace

Refuse refuse_beyond_memory(const StudyConfig& config, const RunOptions& options) {
  const Room room = room_of(options);
  const Constraints constraints = config.constraints;
  const bool is_limited = std::isfinite(std::min(constraints.max_memory, room.bytes));
  if (!config.trains() || !is_limited) return nullptr;
  return [=](const Candidate& candidate) -> std::optional<StudyConfig::Refused> {
    const auto planned = with_training_memory(candidate, constraints);
    if (!planned) return planned.error();
    const double foreseen = bytes_of(*planned);
    if (foreseen <= room.bytes) return std::nullopt;
    return StudyConfig::Refused{
        Cause::kTooLarge,
        fmt::format("{:.0f} bytes foreseen, and {} {:.0f}", foreseen, room.where, room.bytes)};
  };
}

CostMetrics cost_metrics_of(const StudyConfig& config) {
  std::vector<std::string_view> wanted;
  for (const std::string_view metric : kOfNetwork) {
    if (config.trains() && weighs(config, metric)) wanted.push_back(metric);
  }
  if (wanted.empty()) return nullptr;
  return [wanted](const Candidate& candidate) {
    std::vector<std::pair<std::string, double>> costs;
    for (const std::string_view metric : wanted) {
      if (const auto value = cost_of(candidate, metric)) costs.emplace_back(metric, *value);
    }
    return costs;
  };
}

}  // namespace detol::inline scheduler
