// top_k: of every bucket a step sends the largest elements, a small share of them, each with its
// index. The others stay in the rank's residual, which is added to the next step's gradient, so
// that they are only delayed: error feedback, without which such a method need not converge (Stich,
// Cordonnier and Jaggi, 2018, arXiv 1809.07599; Karimireddy et al., 2019, arXiv 1901.09847). As the
// optimiser's momentum is applied after the sum, the residual holds gradients, not gradients times
// the learning rate.
//
//   share 1/4:  gradient 4 1 -2 3, kept back 0 0 0 0 -> sends 4 at 0, keeps 0 1 -2 3
//               gradient 0 1 -2 0                    -> sends -4 at 2, keeps 0 2 0 3
//
// An entry is 8 bytes, and every rank sends its entries to all others. Where that is more than a
// sum of all elements sends, with a large share or with many ranks (share x ranks > 1), all
// elements are sent, and nothing is kept back.
//
// The threshold is found by a histogram of the upper bits of the absolute values, then by selecting
// among the elements of one bin: two passes, about 4 ns per element.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "trainer/collectives/compression.h"
#include "trainer/collectives/compression_rows.h"
#include "trainer/collectives/sum_traffic.h"

namespace detol::inline trainer {
namespace {

constexpr int kSizeBits = 31;  // of a float without its sign: they order like |value|
constexpr int kBinBits = 12;   // bits of a bin's index: exponent and 4 bits

std::uint32_t size_of(float value) {
  return std::bit_cast<std::uint32_t>(value) & ((1U << kSizeBits) - 1);
}

std::size_t bin_of(std::uint32_t size) {
  return size >> (kSizeBits - kBinBits);
}

std::size_t kept_of(const Recipe& recipe, std::size_t floats) {
  const auto kept = std::ceil(recipe.compression_share * static_cast<double>(floats));
  return std::clamp(static_cast<std::size_t>(kept), std::size_t{1}, floats);
}

// Entry is an element that is sent.
struct Entry {
  std::uint32_t place = 0;
  float value = 0;
};

class TopSum final : public BucketSum {
 public:
  TopSum(Group& group, std::size_t kept, std::span<float> residual)
      : group_(group), residual_(residual), own_(kept) {
    all_.resize(kept * static_cast<std::size_t>(group.size()));
    candidates_.reserve(residual.size());
  }

  static std::size_t bytes(std::size_t kept, std::size_t floats, int ranks) {
    return sizeof(TopSum) + sizeof(Entry) * (kept * (1 + static_cast<std::size_t>(ranks)) + floats);
  }

  void start(std::span<float> values) override {
    values_ = values;
    for (std::size_t i = 0; i < values.size(); ++i) residual_[i] += values[i];
    select();
    for (const Entry& one : own_) residual_[one.place] = 0;
    ticket_ = group_.start_gather(std::as_bytes(std::span(own_)),
                                  std::as_writable_bytes(std::span(all_)));
  }

  // Adds an element's terms in the order of the ranks.
  void finish() override {
    group_.finish(ticket_);
    std::ranges::fill(values_, 0.0F);
    for (const Entry& one : all_) values_[one.place] += one.value;
  }

 private:
  // Threshold: `bin` is the lowest bin from which elements are sent, `taken` how many of it are
  // sent.
  struct Threshold {
    std::size_t bin = 0, taken = 0;
  };
  Threshold find_threshold() {
    counts_.fill(0);
    for (const float value : residual_) ++counts_[bin_of(size_of(value))];
    Threshold threshold{counts_.size() - 1, own_.size()};
    for (; counts_[threshold.bin] < threshold.taken; --threshold.bin)
      threshold.taken -= counts_[threshold.bin];
    return threshold;
  }

  // Selects the largest elements; of equal ones the first.
  void select() {
    const Threshold threshold = find_threshold();
    candidates_.clear();
    auto next = own_.begin();
    for (std::uint32_t i = 0; i < residual_.size(); ++i) {
      const std::size_t bin = bin_of(size_of(residual_[i]));
      if (bin > threshold.bin) *next++ = {i, residual_[i]};
      if (bin == threshold.bin) candidates_.push_back({i, residual_[i]});
    }
    const auto middle = candidates_.begin() + static_cast<std::ptrdiff_t>(threshold.taken);
    std::nth_element(candidates_.begin(), middle, candidates_.end(),
                     [](const Entry& a, const Entry& b) {
                       const std::uint32_t one = size_of(a.value), other = size_of(b.value);
                       return one != other ? one > other : a.place < b.place;
                     });
    std::copy(candidates_.begin(), middle, next);
  }

  Group& group_;
  const std::span<float> residual_;
  std::span<float> values_;
  std::vector<Entry> own_, all_;
  std::vector<Entry> candidates_;  // those in the bin of the threshold
  std::array<std::uint32_t, std::size_t{1} << kBinBits> counts_{};
  Group::Ticket ticket_ = 0;
};

// AllSum sends every element, and what an earlier group kept back.
class AllSum final : public BucketSum {
 public:
  AllSum(Group& group, std::span<float> residual) : group_(group), residual_(residual) {}

  void start(std::span<float> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += residual_[i];
    std::ranges::fill(residual_, 0.0F);
    ticket_ = group_.start_sum(values);
  }
  void finish() override { group_.finish(ticket_); }

 private:
  Group& group_;
  const std::span<float> residual_;
  Group::Ticket ticket_ = 0;
};

// Returns whether entries are no more bytes than all elements.
bool pays(std::size_t kept, std::size_t floats, int ranks) {
  return bytes_sent_by_gather(kept * sizeof(Entry), ranks) <=
         values_sent_by_sum(floats, ranks) * sizeof(float);
}

}  // namespace

std::unique_ptr<BucketSum> make_top_k(const Recipe& recipe, Group& group, GradientBucket bucket,
                                      std::span<float> residual) {
  const std::size_t kept = kept_of(recipe, bucket.floats);
  if (!pays(kept, bucket.floats, group.size())) return std::make_unique<AllSum>(group, residual);
  return std::make_unique<TopSum>(group, kept, residual);
}

std::size_t top_k_bytes(const Recipe& recipe, std::size_t floats, int ranks) {
  const std::size_t kept = kept_of(recipe, floats);
  if (pays(kept, floats, ranks)) return TopSum::bytes(kept, floats, ranks);
  return bytes_received_by_sum(floats, sizeof(float), ranks);
}

}  // namespace detol::inline trainer
