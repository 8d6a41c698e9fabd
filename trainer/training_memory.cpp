#include "trainer/training_memory.h"

#include <algorithm>

#include "trainer/backends.h"
#include "trainer/collectives/group.h"

namespace detol::inline trainer {
namespace {

using Refused = StudyConfig::Refused;

// More than any machine has: networks of that size are not planned.
constexpr double kMostPlanned = 0x1.0p44;  // bytes

constexpr double kBf16Bytes = 2;
constexpr std::int64_t kPack = 8;  // a GPU's backend pads channels to a multiple of it

const BackendRow& planning_backend() {
  return *std::ranges::find_if(backends(),
                               [](const BackendRow& row) { return row.plan_bytes != nullptr; });
}

// Returns the bytes of the weights, their gradients and the largest tensor of a batch.
double least_bytes(const Network& network, const Recipe& recipe) {
  double parameters = 0;
  std::int64_t largest = 0;
  for (NodeId id = 0; id < network.nodes().size(); ++id) {
    const Node& node = network.nodes()[id];
    largest = std::max(largest, node.shape.elements());
    for (const ParameterSpec& spec : parameters_of(node.layer, network.input_shapes(id)))
      parameters += static_cast<double>(spec.elements());
  }
  const double values = static_cast<double>(recipe.batch_size) * static_cast<double>(largest);
  return sizeof(float) * (2 * parameters + values);
}

// PlannedGroup stands for the leader of so many ranks, and computes nothing.
class PlannedGroup final : public Group {
 public:
  explicit PlannedGroup(int ranks) : ranks_(ranks) {}
  int rank() const override { return 0; }
  int size() const override { return ranks_; }
  void sum(std::span<float>) override {}
  void sum(std::span<double>) override {}
  void sum(std::span<Half>) override {}
  void gather(std::span<const std::byte>, std::span<std::byte>) override {}
  std::string share(std::string bytes, int) override { return bytes; }

 private:
  const int ranks_;
};

}  // namespace

Result<std::int64_t> training_bytes(const Network& network, const Recipe& recipe, int ranks) {
  const double least = least_bytes(network, recipe);
  if (least > kMostPlanned) return static_cast<std::int64_t>(std::min(least, 0x1.0p62));
  const auto sharers = static_cast<int>(std::min<std::int64_t>(ranks, recipe.batch_size));
  PlannedGroup group(sharers);
  DETOL_ASSIGN(const std::size_t bytes,
               planning_backend().plan_bytes(network, recipe, {.group = &group}));
  return static_cast<std::int64_t>(bytes) * sharers;
}

double device_bytes(const Candidate& candidate) {
  const Recipe& recipe = candidate.recipe;
  const auto planned = static_cast<double>(candidate.cost.memory.value_or(0));
  if (planned == 0 || precision_of(recipe) != PrecisionKind::kBf16) return planned;
  const auto params = static_cast<double>(candidate.cost.params);
  const double copies = 2 + moments_of(recipe) + (recipe.ema > 0 ? 1 : 0);
  const double kept = params * copies * sizeof(float);
  const Shape& input = candidate.network.input_shape();
  const auto pixels = static_cast<double>(recipe.batch_size * input.height * input.width);
  const double staged = pixels * static_cast<double>(input.channels) * sizeof(float);
  const std::int64_t filled = (input.channels + kPack - 1) / kPack * kPack;
  const double padding = pixels * static_cast<double>(filled - input.channels) * kBf16Bytes;
  return kept + params * kBf16Bytes * 2 + std::max(0.0, planned - kept) / 2 + staged + padding;
}

tl::expected<Candidate, Refused> with_training_memory(Candidate candidate,
                                                      const Constraints& constraints, int ranks) {
  const double least = least_bytes(candidate.network, candidate.recipe);
  if (least > constraints.max_memory) {
    candidate.cost.memory = static_cast<std::int64_t>(std::min(least, 0x1.0p62));
  } else {
    const Result<std::int64_t> bytes = training_bytes(candidate.network, candidate.recipe, ranks);
    if (bytes) candidate.cost.memory = *bytes;
  }
  std::string broken = broken_constraints(candidate.cost, constraints);
  if (!broken.empty())
    return tl::unexpected(Refused{Cause::kTooLarge, std::move(broken), candidate.cost});
  return candidate;
}

}  // namespace detol::inline trainer
