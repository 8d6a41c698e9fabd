#include "trainer/collectives/gradient_sums.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>
#include <utility>

#include "core/table.h"

namespace detol::inline trainer {
namespace {

std::size_t end_of(std::span<const GradientBucket> buckets) {
  std::size_t end = 0;
  for (const GradientBucket& one : buckets) end = std::max(end, one.first + one.floats);
  return end;
}

}  // namespace

std::size_t bytes_of_sums(const Recipe& recipe, std::span<const GradientBucket> buckets,
                          int ranks) {
  if (ranks == 1) return 0;
  const CompressionRow& row = known_row(compressions(), recipe.compression);
  const auto rounds = static_cast<std::size_t>(recipe.staleness) + 1;
  std::size_t copies = recipe.staleness > 0 ? rounds : 0;
  if (row.has_residual) copies += 1 + static_cast<std::size_t>(ranks);
  std::size_t bytes = copies * end_of(buckets) * sizeof(float);
  for (const GradientBucket& one : buckets) bytes += rounds * row.bytes(recipe, one.floats, ranks);
  return bytes;
}

GradientSums::GradientSums(const Recipe& recipe, Group& group,
                           std::span<const GradientBucket> buckets)
    : group_(group),
      buckets_(buckets.begin(), buckets.end()),
      rounds_(static_cast<std::size_t>(recipe.staleness) + 1) {
  const CompressionRow& row = known_row(compressions(), recipe.compression);
  const std::size_t floats = end_of(buckets);
  if (row.has_residual) residual_.resize(floats);
  for (Round& round : rounds_) {
    if (recipe.staleness > 0) round.values.resize(floats);
    for (const GradientBucket& one : buckets_) {
      std::span<float> residual;
      if (row.has_residual) residual = std::span(residual_).subspan(one.first, one.floats);
      round.sums.push_back(row.make(recipe, group, one, residual));
    }
  }
}

void GradientSums::start_next(std::span<float> gradients) {
  Round& round = rounds_[steps_ % rounds_.size()];
  const GradientBucket& bucket = buckets_[next_];
  const std::span<float> from = gradients.subspan(bucket.first, bucket.floats);
  std::span<float> values = from;
  if (!round.values.empty()) {
    values = std::span(round.values).subspan(bucket.first, bucket.floats);
    std::ranges::copy(from, values.begin());
  }
  round.is_in_flight = true;
  round.sums[next_++]->start(values);
}

bool GradientSums::finish(std::span<float> gradients) {
  assert(next_ == buckets_.size());
  next_ = 0;
  ++steps_;
  if (steps_ < rounds_.size()) return false;
  Round& oldest = rounds_[(steps_ - rounds_.size()) % rounds_.size()];
  finish(oldest);
  if (!oldest.values.empty()) std::ranges::copy(oldest.values, gradients.begin());
  return true;
}

void GradientSums::finish(Round& round) {
  if (!std::exchange(round.is_in_flight, false)) return;
  for (const auto& sum : round.sums) sum->finish();
}

void GradientSums::share() {
  for (Round& round : rounds_) finish(round);
  if (residual_.empty()) return;
  shared_residuals_.resize(static_cast<std::size_t>(group_.size()));
  const std::string own(reinterpret_cast<const char*>(residual_.data()),
                        residual_.size() * sizeof(float));
  for (int rank = 0; rank < group_.size(); ++rank) {
    const std::string bytes = group_.share(rank == group_.rank() ? own : std::string(), rank);
    std::vector<float>& residual = shared_residuals_[static_cast<std::size_t>(rank)];
    residual.resize(residual_.size());
    std::memcpy(residual.data(), bytes.data(), bytes.size());
  }
}

std::size_t GradientSums::pending() const {
  return std::min(steps_, rounds_.size() - 1);
}

SumsState GradientSums::state() const {
  SumsState state{shared_residuals_, {}};
  for (std::size_t step = steps_ - pending(); step < steps_; ++step)
    state.pending.push_back(rounds_[step % rounds_.size()].values);
  return state;
}

void GradientSums::set_state(const SumsState& state) {
  std::ranges::fill(residual_, 0.0F);
  const auto rank = static_cast<std::size_t>(group_.rank());
  for (std::size_t of = rank; of < state.residuals.size();
       of += static_cast<std::size_t>(group_.size())) {
    for (std::size_t i = 0; i < residual_.size(); ++i) residual_[i] += state.residuals[of][i];
  }
  steps_ = std::min(state.pending.size(), rounds_.size() - 1);
  for (std::size_t i = 0; i < steps_; ++i) rounds_[i].values = state.pending[i];
}

}  // namespace detol::inline trainer
