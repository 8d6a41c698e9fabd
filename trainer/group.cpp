#include "trainer/group.h"

#include <algorithm>
#include <cassert>

namespace detol {
namespace {

class Alone final : public Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void sum(std::span<float>) override {}
  void sum(std::span<double>) override {}
  void sum(std::span<Half>) override {}
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    std::ranges::copy(own, all.begin());
  }
  std::string share(std::string bytes, int) override { return bytes; }
};

Shard nth_of(std::int64_t n, std::int64_t parts, std::int64_t total) {
  const std::int64_t whole = total / parts, rest = total % parts;
  return {n * whole + std::min(n, rest), whole + (n < rest ? 1 : 0)};
}

}  // namespace

Group& alone() {
  static Alone group;
  return group;
}

Shard shard_of(std::int64_t total, const Group& group) {
  return nth_of(group.rank(), group.size(), total);
}

std::vector<Shard> parts_of(std::int64_t batch, const Placement& placement) {
  const std::int64_t smallest = batch / placement.group->size();
  assert(smallest >= 1 && placement.micro_batches >= 1);
  const Shard shard = shard_of(batch, *placement.group);
  const std::int64_t count = std::min<std::int64_t>(placement.micro_batches, smallest);
  std::vector<Shard> parts;
  for (std::int64_t n = 0; n < count; ++n) {
    parts.push_back(nth_of(n, count, shard.count));
    parts.back().first += shard.first;
  }
  return parts;
}

std::string first_word(std::string word, Group& group) {
  std::vector<double> speaks(static_cast<std::size_t>(group.size()));
  speaks[static_cast<std::size_t>(group.rank())] = word.empty() ? 0 : 1;
  group.sum(std::span(speaks));
  const auto first = std::ranges::find(speaks, 1.0);
  if (first == speaks.end()) return {};
  return group.share(std::move(word), static_cast<int>(first - speaks.begin()));
}

std::int64_t largest_part(std::int64_t batch, const Placement& placement) {
  const auto parts = static_cast<std::int64_t>(parts_of(batch, placement).size());
  const std::int64_t shares = placement.group->size() * parts;
  return (batch + shares - 1) / shares;
}

}  // namespace detol
