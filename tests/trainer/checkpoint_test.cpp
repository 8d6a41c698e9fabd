// Tests which checkpoints are kept, and what they hold.

#include "trainer/checkpoint.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/hash.h"
#include "tests/support/idx_writer.h"
#include "tests/trainer/checkpoint_samples.h"
#include "trainer/checkpoint_format.h"

namespace detol::testing_support {
namespace {

TEST(Checkpoint, KeepsAveragedWeightsAndIsOfVersionTwoOnlyThen) {
  const TempFolder folder;
  Checkpoint averaged = example(2);
  averaged.state.average = averaged.state.weights;
  averaged.state.average[0].data[1] = 7;
  ASSERT_TRUE(write_checkpoint(folder.path(), example(1)));
  ASSERT_TRUE(write_checkpoint(folder.path(), averaged));
  expect_equal(read_checkpoint(folder.path(), 2).value(), averaged);
  EXPECT_EQ(to_bytes(example(1)).substr(0, 8), "DETOLCK1");
  EXPECT_EQ(to_bytes(averaged).substr(0, 8), "DETOLCK2");
}

TEST(Checkpoint, KeepsWhatAGroupCarriesAndIsOfVersionThreeOnlyThen) {
  const TempFolder folder;
  Checkpoint grouped = example(2);
  grouped.state.residuals = {grouped.state.moments[0], grouped.state.moments[0]};
  grouped.state.residuals[1][0].data[0] = 7;
  grouped.state.pending = {grouped.state.moments[0]};
  ASSERT_TRUE(write_checkpoint(folder.path(), grouped));
  expect_equal(read_checkpoint(folder.path(), 2).value(), grouped);
  EXPECT_EQ(to_bytes(grouped).substr(0, 8), "DETOLCK3");
}

TEST(Checkpoint, ComesBackAsItWasWritten) {
  const TempFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path() / "trial" / "7", example(3)));
  const auto found = newest_checkpoint(folder.path() / "trial" / "7", 2).value();
  ASSERT_TRUE(found);
  expect_equal(*found, example(3));
}

TEST(Checkpoint, APositionInsideAnEpochComesBackToo) {
  const TempFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), partial(3)));
  EXPECT_EQ(names_in(folder), Names{"epoch-3-step-30.a2.ckpt"});
  expect_equal(*newest_checkpoint(folder.path(), 2).value(), partial(3));
}

TEST(Checkpoint, OfAPartOfAnEpochIsTheFurthestThere) {
  const TempFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), example(3)));
  ASSERT_TRUE(write_checkpoint(folder.path(), partial(3)));
  expect_equal(read_checkpoint(folder.path(), 3).value(), example(3));
  expect_equal(read_checkpoint(folder.path(), 3.25).value(), partial(3));
  EXPECT_FALSE(read_checkpoint(folder.path(), 2.25));
  remove_checkpoints(folder.path(), 3.25);
  EXPECT_EQ(names_in(folder), Names{"epoch-3-step-30.a2.ckpt"});
  remove_checkpoints(folder.path(), 3);
  EXPECT_EQ(names_in(folder), Names{});
}

TEST(Checkpoint, NoNumberIsTooOddForIt) {
  const TempFolder folder;
  Checkpoint odd = example(1);
  const double denormal = 5e-324, inf = std::numeric_limits<double>::infinity();
  odd.history[0].metrics = {{"a", std::nan("7")}, {"b", -inf}, {"c", -0.0}, {"d", denormal}};
  odd.history[0].metrics.push_back({"\xff not UTF-8?", 1});
  odd.history[0].metrics.back().name = "a \"name\"\n";
  ASSERT_TRUE(write_checkpoint(folder.path(), odd));
  expect_equal(*newest_checkpoint(folder.path(), 2).value(), odd);
}

TEST(Checkpoint, AHeaderNestedDeeperThanTheStackIsDamaged) {
  const auto number = [](std::uint64_t value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const std::string header :
       {std::string(200'000, '['), std::string(200'000, '[') + std::string(200'000, ']')}) {
    std::string bytes = "DETOLCK1" + number(header.size()) + header;
    bytes += number(hash64(bytes));
    const auto read = from_bytes(bytes);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().reason.find("its header is nested more than 64 deep"), std::string::npos)
        << read.error().reason;
  }
}

TEST(Checkpoint, AFolderWithoutAnyOrNoFolderHasNone) {
  const TempFolder folder;
  EXPECT_FALSE(newest_checkpoint(folder.path(), 2).value());
  EXPECT_FALSE(newest_checkpoint(folder.path() / "missing", 2).value());
}

TEST(Checkpoint, TheLastTwoAreKept) {
  const TempFolder folder;
  for (int epoch : {8, 9, 10, 11}) ASSERT_TRUE(write_checkpoint(folder.path(), example(epoch)));
  EXPECT_FALSE(std::filesystem::exists(file_of(folder, 9)));
  EXPECT_TRUE(read_checkpoint(folder.path(), 10));
  EXPECT_EQ(newest_checkpoint(folder.path(), 2).value()->epoch, 11);
}

TEST(Checkpoint, APositionInsideAnEpochDisplacesNoFinishedEpoch) {
  const TempFolder folder;
  for (int epoch : {1, 2, 3}) ASSERT_TRUE(write_checkpoint(folder.path(), example(epoch)));
  ASSERT_TRUE(write_checkpoint(folder.path(), partial(3)));
  EXPECT_EQ(names_in(folder),
            (Names{"epoch-2.a2.ckpt", "epoch-3.a2.ckpt", "epoch-3-step-30.a2.ckpt"}));
  expect_equal(read_checkpoint(folder.path(), 3).value(), example(3));
}

TEST(Checkpoint, APositionInsideAnEpochGoesWhenMoreIsDurable) {
  const TempFolder folder;
  Checkpoint further = partial(1);
  further.progress.steps = 31;
  for (const Checkpoint& checkpoint : {example(1), partial(1), further})
    ASSERT_TRUE(write_checkpoint(folder.path(), checkpoint));
  EXPECT_EQ(names_in(folder), (Names{"epoch-1.a2.ckpt", "epoch-1-step-31.a2.ckpt"}));
  ASSERT_TRUE(write_checkpoint(folder.path(), example(2)));
  EXPECT_EQ(names_in(folder), (Names{"epoch-1.a2.ckpt", "epoch-2.a2.ckpt"}));
}

TEST(Checkpoint, ANewAttemptContinuesFromTheFurthestOfItsForerunners) {
  const TempFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), by_attempt(3, example(1))));
  ASSERT_TRUE(write_checkpoint(folder.path(), by_attempt(1, example(2))));
  ASSERT_TRUE(write_checkpoint(folder.path(), by_attempt(2, example(2))));
  const Checkpoint found = *newest_checkpoint(folder.path(), 4).value();
  EXPECT_EQ(found.epoch, 2);
  EXPECT_EQ(found.attempt, 2);
}

TEST(Checkpoint, AnOlderAttemptNeitherSeesNorTouchesWhatANewerOneWrote) {
  const TempFolder folder;
  for (int epoch : {1, 2, 3})
    ASSERT_TRUE(write_checkpoint(folder.path(), by_attempt(2, example(epoch))));
  ASSERT_TRUE(write_checkpoint(folder.path(), by_attempt(2, partial(3))));
  const Names of_the_newer = names_in(folder);
  EXPECT_FALSE(newest_checkpoint(folder.path(), 1).value());
  for (int epoch : {1, 2, 3, 4, 5})
    ASSERT_TRUE(write_checkpoint(folder.path(), by_attempt(1, example(epoch))));
  ASSERT_TRUE(set_aside_checkpoints(folder.path(), 1));
  for (const std::string& name : of_the_newer)
    EXPECT_TRUE(std::filesystem::exists(folder.path() / name)) << name;
  expect_equal(*newest_checkpoint(folder.path(), 2).value(), by_attempt(2, partial(3)));
}

TEST(Checkpoint, ANewAttemptClearsAwayWhatItsForerunnersLeft) {
  const TempFolder folder;
  for (int epoch : {1, 2})
    ASSERT_TRUE(write_checkpoint(folder.path(), by_attempt(1, example(epoch))));
  write_bytes(folder.path() / "epoch-3.a1.ckpt.tmp-0123abcd", "half of it");
  for (int epoch : {2, 3})
    ASSERT_TRUE(write_checkpoint(folder.path(), by_attempt(2, example(epoch))));
  EXPECT_EQ(names_in(folder), (Names{"epoch-2.a2.ckpt", "epoch-3.a2.ckpt"}));
}

TEST(Checkpoint, AnEpochIsFoundWhicheverAttemptWroteIt) {
  const TempFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), by_attempt(1, example(1))));
  ASSERT_TRUE(write_checkpoint(folder.path(), by_attempt(12, example(2))));
  expect_equal(read_checkpoint(folder.path(), 1).value(), by_attempt(1, example(1)));
  expect_equal(read_checkpoint(folder.path(), 2).value(), by_attempt(12, example(2)));
  const auto missing = read_checkpoint(folder.path(), 3);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kStorage);
}

TEST(Checkpoint, AFileUnderAnothersNameIsNotBelieved) {
  const TempFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), example(1)));
  std::filesystem::copy(file_of(folder, 1), file_of(folder, 2));
  EXPECT_FALSE(read_checkpoint(folder.path(), 2));
  EXPECT_EQ(newest_checkpoint(folder.path(), 2).value()->epoch, 1);
}

TEST(Checkpoint, FilesOfOtherNamesAreLeftAlone) {
  const TempFolder folder;
  const Names others = {"epoch-01.a1.ckpt", "epoch-1.ckpt", "epoch-1.a1.ckpt.old", "model.ckpt"};
  for (const std::string& name : others) write_bytes(folder.path() / name, "mine");
  EXPECT_FALSE(newest_checkpoint(folder.path(), 2).value());
  ASSERT_TRUE(set_aside_checkpoints(folder.path(), 2));
  for (int epoch : {1, 2, 3}) ASSERT_TRUE(write_checkpoint(folder.path(), example(epoch)));
  for (const std::string& name : others)
    EXPECT_TRUE(std::filesystem::exists(folder.path() / name)) << name;
}

TEST(Checkpoint, AFolderThatCannotBeWrittenIsAStorageError) {
  const TempFolder folder;
  write_bytes(folder.path() / "file", "");
  const auto written = write_checkpoint(folder.path() / "file" / "trial", example(1));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kStorage);
}

}  // namespace
}  // namespace detol::testing_support
