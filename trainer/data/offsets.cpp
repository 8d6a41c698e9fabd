#include "trainer/data/offsets.h"

#include <algorithm>
#include <cmath>

namespace detol::inline trainer {
namespace {

constexpr std::size_t kMostKept = 1024;

// A float of numbers that are larger than this times their spread has less than 12 bits for it.
constexpr double kLargestRatio = 4096;

}  // namespace

void OffsetFinder::add(double number) {
  if (!std::isfinite(number)) return;
  least_ = seen_ == 0 ? number : std::min(least_, number);
  most_ = seen_ == 0 ? number : std::max(most_, number);
  if (seen_++ % stride_ != 0) return;
  kept_.push_back(number);
  if (kept_.size() < kMostKept) return;
  for (std::size_t i = 0; 2 * i < kept_.size(); ++i) kept_[i] = kept_[2 * i];
  kept_.resize(kMostKept / 2);
  stride_ *= 2;
}

void OffsetFinder::add(const OffsetFinder& other) {
  for (const double number : other.kept_) add(number);
}

// Quartiles, so that a few zeros that stand for missing numbers do not hide the others.
double OffsetFinder::offset() const {
  if (kept_.empty()) return 0;
  std::vector<double> sorted = kept_;
  std::ranges::sort(sorted);
  double low = sorted[sorted.size() / 4], high = sorted[sorted.size() * 3 / 4];
  if (low == high) {
    low = least_;
    high = most_;
  }
  const double largest = std::max(std::abs(low), std::abs(high));
  if (low == high || largest < kLargestRatio * (high - low) / 2) return 0;
  return sorted[sorted.size() / 2];
}

std::vector<double> offsets_of(std::span<const OffsetFinder> columns) {
  std::vector<double> offsets;
  for (const OffsetFinder& column : columns) offsets.push_back(column.offset());
  if (std::ranges::all_of(offsets, [](double offset) { return offset == 0; })) offsets.clear();
  return offsets;
}

}  // namespace detol::inline trainer
