#include "trainer/checkpoint.h"

#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/hash.h"
#include "core/rng.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "trainer/checkpoint_format.h"

namespace detol {
namespace {

using testing_support::TempFolder;
using testing_support::write_bytes;

Checkpoint example(int epoch) {
  Checkpoint checkpoint{.trial = 0xffff'ffff'ffff'fff0u,
                        .attempt = 2,
                        .arch_hash = 0x0123456789abcdef,
                        .job_hash = 0xfedcba9876543210,
                        .epoch = epoch,
                        .step = 100L * epoch,
                        .part = {},
                        .history = {},
                        .state = {}};
  for (int e = 1; e <= epoch; ++e) {
    checkpoint.history.push_back(
        {.epoch = e,
         .metrics = {{"val_accuracy", 0.1 + 0.2 * e}, {"val_loss", 1.0 / 3}},
         .work = 1e15 / 3 * e,
         .train_s = 0.1 * e});
  }
  checkpoint.state.weights = {{"conv1.weight", {2, 1, 1, 1}, {0.5f, -0.25f}},
                              {"bn1.running_var", {1}, {static_cast<float>(epoch)}}};
  checkpoint.state.moments = {{{"conv1.weight", {2, 1, 1, 1}, {1e-30f, 3}}}};
  return checkpoint;
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

void expect_equal(const Weights& a, const Weights& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].shape, b[i].shape);
    EXPECT_EQ(a[i].data, b[i].data);
  }
}

void expect_equal(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_EQ(a.trial, b.trial);
  EXPECT_EQ(a.attempt, b.attempt);
  EXPECT_EQ(a.arch_hash, b.arch_hash);
  EXPECT_EQ(a.job_hash, b.job_hash);
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.part.steps, b.part.steps);
  EXPECT_TRUE(same_bits(a.part.loss, b.part.loss));
  EXPECT_EQ(a.part.correct, b.part.correct);
  EXPECT_TRUE(same_bits(a.part.train_s, b.part.train_s));
  ASSERT_EQ(a.history.size(), b.history.size());
  for (std::size_t e = 0; e < a.history.size(); ++e) {
    EXPECT_EQ(a.history[e].epoch, b.history[e].epoch);
    EXPECT_TRUE(same_bits(a.history[e].work, b.history[e].work));
    EXPECT_TRUE(same_bits(a.history[e].train_s, b.history[e].train_s));
    ASSERT_EQ(a.history[e].metrics.size(), b.history[e].metrics.size());
    for (std::size_t m = 0; m < a.history[e].metrics.size(); ++m) {
      EXPECT_EQ(a.history[e].metrics[m].name, b.history[e].metrics[m].name);
      EXPECT_TRUE(same_bits(a.history[e].metrics[m].value, b.history[e].metrics[m].value));
    }
  }
  expect_equal(a.state.weights, b.state.weights);
  expect_equal(a.state.average, b.state.average);
  for (const auto lists :
       {&TrainingState::moments, &TrainingState::residuals, &TrainingState::pending}) {
    ASSERT_EQ((a.state.*lists).size(), (b.state.*lists).size());
    for (std::size_t i = 0; i < (a.state.*lists).size(); ++i)
      expect_equal((a.state.*lists)[i], (b.state.*lists)[i]);
  }
}

// 30 steps into the epoch behind `epoch`.
Checkpoint partial(int epoch) {
  Checkpoint checkpoint = example(epoch);
  checkpoint.part = {.steps = 30, .loss = 0.1 + epoch, .correct = 77, .train_s = 1.0 / 3};
  checkpoint.step += 30;
  return checkpoint;
}

Checkpoint by_attempt(int attempt, Checkpoint checkpoint) {
  checkpoint.attempt = attempt;
  return checkpoint;
}

std::filesystem::path file_of(const TempFolder& folder, int epoch) {
  return folder.path() / ("epoch-" + std::to_string(epoch) + ".a2.ckpt");
}

std::set<std::string> names_in(const TempFolder& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.insert(entry.path().filename());
  return names;
}

using Names = std::set<std::string>;

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
  further.part.steps = 31;
  for (const Checkpoint& one : {example(1), partial(1), further})
    ASSERT_TRUE(write_checkpoint(folder.path(), one));
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
  write_bytes(folder.path() / "epoch-3.a1.ckpt.tmp", "half of it");
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

TEST(Checkpoint, EveryTruncationIsNoticedAndTheOneBeforeIsUsed) {
  const TempFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), example(1)));
  ASSERT_TRUE(write_checkpoint(folder.path(), example(2)));
  const std::string whole = read_file(file_of(folder, 2)).value();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_bytes(file_of(folder, 2), std::string_view(whole).substr(0, length));
    ASSERT_FALSE(read_checkpoint(folder.path(), 2)) << length;
    ASSERT_EQ(newest_checkpoint(folder.path(), 2).value()->epoch, 1) << length;
    ASSERT_TRUE(std::filesystem::remove(file_of(folder, 2).string() + ".bad"));
  }
}

TEST(Checkpoint, EveryFlippedBitIsNoticed) {
  const TempFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), example(1)));
  const std::string whole = read_file(file_of(folder, 1)).value();
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    write_bytes(file_of(folder, 1), flipped);
    const auto read = read_checkpoint(folder.path(), 1);
    ASSERT_FALSE(read) << bit;
    EXPECT_EQ(read.error().code, ErrorCode::kStorage);
    ASSERT_EQ(read.error().message.find("newer"), std::string::npos) << read.error().message;
  }
}

// Flips bits, cuts, empties, or appends to a file; never leaves it as it was.
std::string damaged(std::string bytes, Rng& draws) {
  switch (draws.below(4)) {
    case 0: {
      std::set<std::uint64_t> bits;
      for (std::uint64_t i = 0; i <= draws.below(5); ++i)
        bits.insert(draws.below(8 * bytes.size()));
      for (std::uint64_t bit : bits)
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
      return bytes;
    }
    case 1:
      return bytes.substr(0, draws.below(bytes.size()));
    case 2:
      return "";
    default:
      return bytes + std::string(1 + draws.below(20), '\0');
  }
}

TEST(Checkpoint, WhateverHappensToAFileTheFurthestWholeOneIsUsedAndTheBadOnesAreKept) {
  const std::vector<std::pair<std::string, Checkpoint>> all = {
      {"epoch-2-step-30.a2.ckpt", partial(2)},
      {"epoch-2.a2.ckpt", example(2)},
      {"epoch-1.a2.ckpt", example(1)}};
  for (std::uint64_t round = 0; round < 200; ++round) {
    const TempFolder folder;
    Rng draws = Rng(20260901).split(round);
    const Checkpoint* expected = nullptr;  // the first whole one
    Names bad;                             // those before it
    for (const auto& [name, checkpoint] : all) {
      ASSERT_TRUE(write_checkpoint(folder.path(), checkpoint));
      const std::string bytes = read_file(folder.path() / name).value();
      const bool is_damaged = draws.chance(0.7);
      if (is_damaged) write_bytes(folder.path() / name, damaged(bytes, draws));
      if (!is_damaged && expected == nullptr) expected = &checkpoint;
      if (expected == nullptr) bad.insert(name + ".bad");
    }
    const auto found = newest_checkpoint(folder.path(), 2).value();
    ASSERT_EQ(found.has_value(), expected != nullptr) << round;
    if (found) expect_equal(*found, *expected);
    for (const auto& [name, checkpoint] : all)
      EXPECT_EQ(std::filesystem::exists(folder.path() / (name + ".bad")),
                bad.contains(name + ".bad"))
          << round << " " << name;
  }
}

TEST(Checkpoint, WithAllDamagedThereIsNone) {
  const TempFolder folder;
  for (int epoch : {1, 2}) {
    ASSERT_TRUE(write_checkpoint(folder.path(), example(epoch)));
    write_bytes(file_of(folder, epoch), "rubbish");
  }
  EXPECT_FALSE(newest_checkpoint(folder.path(), 2).value());
}

TEST(Checkpoint, AKillBeforeTheRenameLeavesTheFormer) {
  const TempFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), example(1)));
  write_bytes(file_of(folder, 2).string() + ".tmp", "DETOLCK1 half of it");
  EXPECT_EQ(newest_checkpoint(folder.path(), 2).value()->epoch, 1);
  ASSERT_TRUE(write_checkpoint(folder.path(), example(2)));
  EXPECT_EQ(newest_checkpoint(folder.path(), 2).value()->epoch, 2);
}

// A valid checksum for a changed body.
void seal(const std::filesystem::path& path, std::string body) {
  const std::uint64_t checksum = hash64(body);
  body.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  write_bytes(path, body);
}

TEST(Checkpoint, ANewerVersionIsRefusedAndLeftAlone) {
  const TempFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), example(1)));
  std::string body = read_file(file_of(folder, 1)).value();
  body.resize(body.size() - 8);
  body[7] = '4';
  seal(file_of(folder, 1), body);
  const auto found = newest_checkpoint(folder.path(), 2);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kStorage);
  EXPECT_NE(found.error().message.find("version 4"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(file_of(folder, 1)));
}

TEST(Checkpoint, AHeaderThatLiesIsDamageNotACrash) {
  const TempFolder folder;
  const auto with = [](std::string_view header) {
    std::string body = "DETOLCK1";
    const std::uint64_t length = header.size();
    body.append(reinterpret_cast<const char*>(&length), sizeof length);
    return body.append(header);
  };
  std::string too_long = with("{}");
  too_long[12] = 1;
  const std::string huge =
      R"({"trial":1,"attempt":1,"arch_hash":"0000000000000000","job_hash":"0000000000000000",)"
      R"("epoch":1,"step":1,"part":{"steps":0,"loss":"0000000000000000","correct":0,)"
      R"("train_s":"0000000000000000"},"history":[],"moments":[],"weights":[{"name":"w","shape":)";
  for (const std::string& body :
       {too_long, with(""), with("[]"), with("{}"), with("{\"trial\":-1}"), with("\xff\xfe"),
        with(std::string(100000, '[')), with(huge + "[4611686018427387904,4]}]}"),
        with(huge + "[-1,-1]}]}"), with(huge + "[]}]}"), with(huge + "3}]}")}) {
    seal(file_of(folder, 1), body);
    EXPECT_FALSE(newest_checkpoint(folder.path(), 2).value()) << body.substr(0, 300);
  }
}

TEST(Checkpoint, AFolderThatCannotBeWrittenIsAStorageError) {
  const TempFolder folder;
  write_bytes(folder.path() / "file", "");
  const auto written = write_checkpoint(folder.path() / "file" / "trial", example(1));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kStorage);
}

}  // namespace
}  // namespace detol
