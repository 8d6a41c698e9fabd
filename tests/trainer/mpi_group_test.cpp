// The contract of Group, for the ranks of an MPI job.

#include "trainer/collectives/mpi_group.h"

#include <algorithm>
#include <ctime>
#include <thread>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "tests/trainer/mpi_test.h"

namespace detol {
namespace {

std::vector<float> values_of(int rank, std::size_t count) {
  Rng rng = Rng(7).split(static_cast<std::uint64_t>(rank));
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(rng.normal());
  return values;
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(MpiGroup, KnowsItsPlaceWithoutAskingMpi) {
  EXPECT_EQ(mpi_place()->rank, ranks().rank());
  EXPECT_EQ(mpi_place()->size, ranks().size());
}

TEST(MpiGroup, SumsInTheOrderOfTheRanksWhateverTheMpi) {
  for (const std::size_t count : {0u, 1u, 2u, 5u, 1000u, 300001u}) {
    std::vector<float> expected(count);
    for (int rank = 0; rank < ranks().size(); ++rank) {
      const std::vector<float> values = values_of(rank, count);
      for (std::size_t i = 0; i < count; ++i) expected[i] += values[i];
    }
    std::vector<float> values = values_of(ranks().rank(), count);
    ranks().sum(std::span(values));
    EXPECT_EQ(values, expected) << count;
  }
}

// The sizes are on both sides of the limit at which a sum takes two rounds instead of one.
TEST(MpiGroup, SumsThatAreMadeBesideOthersHaveTheSameBits) {
  const std::vector<std::size_t> sizes = {5, 70000, 1, 32768, 32769, 0, 300001};
  std::vector<std::vector<float>> expected, values;
  for (const std::size_t size : sizes) {
    values.push_back(values_of(ranks().rank(), size));
    expected.push_back(values.back());
    ranks().sum(std::span(expected.back()));
  }
  for (int round = 0; round < 2; ++round) {
    std::vector<std::vector<float>> sums = values;
    for (std::vector<float>& sum : sums) {
      ranks().start_sum(sum);
      ranks().advance();
    }
    std::vector<float> between = values[1];
    ranks().sum(std::span(between));
    EXPECT_EQ(between, expected[1]);
    EXPECT_EQ(ranks().share("word"), "word");
    ranks().finish();
    EXPECT_EQ(sums, expected);
  }
}

TEST(MpiGroup, SumsTheSameBitsHoweverTheValuesAreDivided) {
  std::vector<float> whole = values_of(ranks().rank(), 100000), divided = whole;
  ranks().sum(std::span(whole));
  for (std::size_t first = 0; first < divided.size();) {
    const std::size_t count = std::min(first / 2 + 1, divided.size() - first);
    ranks().start_sum(std::span(divided).subspan(first, count));
    first += count;
  }
  ranks().finish();
  EXPECT_EQ(divided, whole);
}

TEST(MpiGroup, SumsHalvesInSinglePrecisionRoundedOnce) {
  for (const std::size_t count : {0u, 1u, 9u, 40000u, 100001u}) {
    std::vector<Half> all;
    for (int rank = 0; rank < ranks().size(); ++rank) {
      std::vector<Half> values(count);
      to_halves(values_of(rank, count), 1000, values);
      all.insert(all.end(), values.begin(), values.end());
    }
    const auto own = static_cast<std::ptrdiff_t>(count) * ranks().rank();
    std::vector<Half> values(all.begin() + own, all.begin() + own + static_cast<int>(count));
    std::vector<Half> expected(count);
    add_halves(all, static_cast<std::size_t>(ranks().size()), expected);
    ranks().sum(std::span(values));
    EXPECT_EQ(values, expected) << count;
  }
}

TEST(MpiGroup, GathersTheBytesOfAllRanksInTheirOrder) {
  const auto own = static_cast<std::byte>(ranks().rank());
  const std::vector<std::byte> bytes(1000, own);
  std::vector<std::byte> all(bytes.size() * static_cast<std::size_t>(ranks().size()));
  std::vector<std::byte> other(all.size());
  const Group::Ticket first = ranks().start_gather(bytes, all);
  ranks().gather(bytes, other);
  ranks().finish(first);
  EXPECT_EQ(all, other);
  for (std::size_t i = 0; i < all.size(); ++i)
    ASSERT_EQ(all[i], static_cast<std::byte>(i / bytes.size()));
}

TEST(MpiGroup, SumsDoubles) {
  std::vector<double> values = {0.1, static_cast<double>(ranks().rank())};
  ranks().sum(std::span(values));
  const int size = ranks().size();
  EXPECT_DOUBLE_EQ(values[0], 0.1 * size);
  EXPECT_EQ(values[1], size * (size - 1) / 2.0);
}

TEST(MpiGroup, SharesTheLeadersBytesOfAnyLength) {
  for (const std::size_t count : {0u, 1u, 5000u, 5000000u}) {
    const std::string bytes(count, static_cast<char>('a' + ranks().rank()));
    EXPECT_EQ(ranks().share(bytes), std::string(count, 'a'));
  }
}

TEST(MpiGroup, WaitsForTheLeaderWithoutBurningACore) {
  constexpr auto kPause = std::chrono::seconds(1);
  ranks().share("");
  const double start = processor_seconds();
  if (ranks().rank() == 0) std::this_thread::sleep_for(kPause);
  ranks().share("");
  EXPECT_LT(processor_seconds() - start, 0.1);
}

}  // namespace
}  // namespace detol
