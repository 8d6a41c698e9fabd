// none   values are sent as they are
// fp16   values are sent as halves, and so are their sums: half the bytes. They are multiplied by
//        1024 for it, as gradients are small numbers: halves of full precision then reach from 6e-8
//        to 64 (Micikevicius et al., 2018, arXiv 1710.03740, scale for that reason). An element
//        beyond 64 is clamped there, never infinite; a factor that depends on the batch would need
//        another round of messages, and the bits would depend on it, too.
// top_k  only the largest values are sent: top_k.cpp

#include <array>
#include <vector>

#include "core/half.h"
#include "trainer/collectives/compression.h"
#include "trainer/collectives/compression_rows.h"
#include "trainer/collectives/sum_traffic.h"

namespace detol::inline trainer {
namespace {

constexpr float kHalfScale = 1024;

class WholeSum final : public BucketSum {
 public:
  explicit WholeSum(Group& group) : group_(group) {}
  void start(std::span<float> values) override { ticket_ = group_.start_sum(values); }
  void finish() override { group_.finish(ticket_); }

 private:
  Group& group_;
  Group::Ticket ticket_ = 0;
};

class HalfSum final : public BucketSum {
 public:
  HalfSum(Group& group, std::size_t floats) : group_(group), halves_(floats) {}

  void start(std::span<float> values) override {
    values_ = values;
    to_halves(values, kHalfScale, halves_);
    ticket_ = group_.start_sum(std::span(halves_));
  }

  void finish() override {
    group_.finish(ticket_);
    from_halves(halves_, 1 / kHalfScale, values_);
  }

 private:
  Group& group_;
  std::vector<Half> halves_;
  std::span<float> values_;
  Group::Ticket ticket_ = 0;
};

std::unique_ptr<BucketSum> make_whole(const Recipe&, Group& group, GradientBucket,
                                      std::span<float>) {
  return std::make_unique<WholeSum>(group);
}

std::unique_ptr<BucketSum> make_half(const Recipe&, Group& group, GradientBucket bucket,
                                     std::span<float>) {
  return std::make_unique<HalfSum>(group, bucket.floats);
}

std::size_t whole_bytes(const Recipe&, std::size_t floats, int ranks) {
  return bytes_received_by_sum(floats, sizeof(float), ranks);
}

std::size_t half_bytes(const Recipe&, std::size_t floats, int ranks) {
  return floats * sizeof(Half) + bytes_received_by_sum(floats, sizeof(Half), ranks);
}

constexpr std::array kCompressions = {
    CompressionRow{"none", "gradients travel as they are", false, make_whole, whole_bytes},
    CompressionRow{"fp16", "gradients travel as numbers of 16 bits", false, make_half, half_bytes},
    CompressionRow{"top_k", "the largest gradients travel, the others wait", true, make_top_k,
                   top_k_bytes},
};

}  // namespace

std::span<const CompressionRow> compressions() {
  return kCompressions;
}

}  // namespace detol::inline trainer
