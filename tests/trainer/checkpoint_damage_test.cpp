// Checkpoints that were cut, changed, or written by another version.

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/hash.h"
#include "core/rng.h"
#include "tests/support/idx_writer.h"
#include "tests/trainer/checkpoint_samples.h"
#include "trainer/checkpoint_format.h"

namespace detol::testing_support {
namespace {

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

// Obstacle is put in a checkpoint's place and cannot be read.
struct Obstacle {
  const char* name;
  void (*put)(const std::filesystem::path& path);
};
class UnreadableCheckpoint : public testing::TestWithParam<Obstacle> {};

TEST_P(UnreadableCheckpoint, IsKeptAsBadAndTheOneBeforeIsUsed) {
  const TempFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), example(1)));
  GetParam().put(file_of(folder, 2));
  ASSERT_FALSE(read_checkpoint(folder.path(), 2));
  const auto found = newest_checkpoint(folder.path(), 2);
  ASSERT_TRUE(found) << found.error().message;
  expect_equal(found->value(), example(1));
  EXPECT_EQ(names_in(folder), (Names{"epoch-1.a2.ckpt", "epoch-2.a2.ckpt.bad"}));
}

TEST_P(UnreadableCheckpoint, WithNoOtherTheTrialBeginsAgain) {
  const TempFolder folder;
  GetParam().put(file_of(folder, 2));
  const auto found = newest_checkpoint(folder.path(), 2);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FALSE(found->has_value());
  ASSERT_TRUE(write_checkpoint(folder.path(), example(2)));
  expect_equal(newest_checkpoint(folder.path(), 2).value().value(), example(2));
}

constexpr Obstacle kObstacles[] = {
    {"Folder", [](const auto& path) { std::filesystem::create_directory(path); }},
    {"FolderWithFiles",
     [](const auto& path) {
       std::filesystem::create_directory(path);
       write_bytes(path / "a", "mine");
     }},
    {"Pipe", [](const auto& path) { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); }},
    {"Device", [](const auto& path) { std::filesystem::create_symlink("/dev/zero", path); }},
    {"Eio", [](const auto& path) { std::filesystem::create_symlink("/proc/self/mem", path); }},
    {"Loop", [](const auto& path) { std::filesystem::create_symlink(path, path); }},
};
INSTANTIATE_TEST_SUITE_P(All, UnreadableCheckpoint, testing::ValuesIn(kObstacles),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(Checkpoint, OneThatCannotBeSetAsideIsPassedOver) {
  const TempFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), example(1)));
  write_bytes(file_of(folder, 2), "rubbish");
  std::filesystem::create_directory(file_of(folder, 2).string() + ".bad");
  expect_equal(newest_checkpoint(folder.path(), 2).value().value(), example(1));
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
  write_bytes(file_of(folder, 2).string() + ".tmp-0123abcd", "DETOLCK1 half of it");
  EXPECT_EQ(newest_checkpoint(folder.path(), 2).value()->epoch, 1);
  ASSERT_TRUE(write_checkpoint(folder.path(), example(2)));
  EXPECT_EQ(newest_checkpoint(folder.path(), 2).value()->epoch, 2);
}

// Writes the changed body with a valid checksum.
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
  body[7] = '5';
  seal(file_of(folder, 1), body);
  const auto found = newest_checkpoint(folder.path(), 2);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kStorage);
  EXPECT_NE(found.error().message.find("version 5"), std::string::npos);
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
        with(huge + "[-1,-1]}]}"), with(huge + "[]}]}"), with(huge + "3}]}"),
        with(huge + "[2.5]}]}"), with(huge + "[1e30]}]}"), with("{\"trial\":1e30}"),
        with("{\"trial\":0.5}")}) {
    seal(file_of(folder, 1), body);
    EXPECT_FALSE(newest_checkpoint(folder.path(), 2).value()) << body.substr(0, 300);
  }
}

}  // namespace
}  // namespace detol::testing_support
