#include "trainer/checkpoint.h"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/hash.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

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
  ASSERT_EQ(a.state.moments.size(), b.state.moments.size());
  for (std::size_t i = 0; i < a.state.moments.size(); ++i) {
    expect_equal(a.state.moments[i], b.state.moments[i]);
  }
}

std::filesystem::path file_of(const TempFolder& folder, int epoch) {
  return folder.path() / ("epoch-" + std::to_string(epoch) + ".ckpt");
}

TEST(Checkpoint, ComesBackAsItWasWritten) {
  const TempFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path() / "trial" / "7", example(3)));
  const auto found = newest_checkpoint(folder.path() / "trial" / "7").value();
  ASSERT_TRUE(found);
  expect_equal(*found, example(3));
}

TEST(Checkpoint, NoNumberIsTooOddForIt) {
  const TempFolder folder;
  Checkpoint odd = example(1);
  const double denormal = 5e-324, inf = std::numeric_limits<double>::infinity();
  odd.history[0].metrics = {{"a", std::nan("7")}, {"b", -inf}, {"c", -0.0}, {"d", denormal}};
  odd.history[0].metrics.push_back({"\xff not UTF-8?", 1});
  odd.history[0].metrics.back().name = "a \"name\"\n";
  ASSERT_TRUE(write_checkpoint(folder.path(), odd));
  expect_equal(*newest_checkpoint(folder.path()).value(), odd);
}

TEST(Checkpoint, AFolderWithoutAnyOrNoFolderHasNone) {
  const TempFolder folder;
  EXPECT_FALSE(newest_checkpoint(folder.path()).value());
  EXPECT_FALSE(newest_checkpoint(folder.path() / "missing").value());
}

TEST(Checkpoint, TheLastTwoAreKept) {
  const TempFolder folder;
  for (int epoch : {8, 9, 10, 11}) ASSERT_TRUE(write_checkpoint(folder.path(), example(epoch)));
  EXPECT_FALSE(std::filesystem::exists(file_of(folder, 9)));
  EXPECT_TRUE(read_checkpoint(folder.path(), 10));
  EXPECT_EQ(newest_checkpoint(folder.path()).value()->epoch, 11);
}

TEST(Checkpoint, EveryTruncationIsNoticedAndTheOneBeforeIsUsed) {
  const TempFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), example(1)));
  ASSERT_TRUE(write_checkpoint(folder.path(), example(2)));
  const std::string whole = read_file(file_of(folder, 2)).value();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_bytes(file_of(folder, 2), std::string_view(whole).substr(0, length));
    ASSERT_FALSE(read_checkpoint(folder.path(), 2)) << length;
    ASSERT_EQ(newest_checkpoint(folder.path()).value()->epoch, 1) << length;
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

TEST(Checkpoint, WithAllDamagedThereIsNone) {
  const TempFolder folder;
  for (int epoch : {1, 2}) {
    ASSERT_TRUE(write_checkpoint(folder.path(), example(epoch)));
    write_bytes(file_of(folder, epoch), "rubbish");
  }
  EXPECT_FALSE(newest_checkpoint(folder.path()).value());
}

TEST(Checkpoint, AKillBeforeTheRenameLeavesTheFormer) {
  const TempFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), example(1)));
  write_bytes(file_of(folder, 2).string() + ".tmp", "DETOLCK1 half of it");
  EXPECT_EQ(newest_checkpoint(folder.path()).value()->epoch, 1);
  ASSERT_TRUE(write_checkpoint(folder.path(), example(2)));
  EXPECT_EQ(newest_checkpoint(folder.path()).value()->epoch, 2);
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
  body[7] = '2';
  seal(file_of(folder, 1), body);
  const auto found = newest_checkpoint(folder.path());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kStorage);
  EXPECT_NE(found.error().message.find("version 2"), std::string::npos);
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
      R"("epoch":1,"step":1,"history":[],"moments":[],"weights":[{"name":"w","shape":)";
  for (const std::string& body :
       {too_long, with(""), with("[]"), with("{}"), with("{\"trial\":-1}"), with("\xff\xfe"),
        with(std::string(100000, '[')), with(huge + "[4611686018427387904,4]}]}"),
        with(huge + "[-1,-1]}]}"), with(huge + "[]}]}"), with(huge + "3}]}")}) {
    seal(file_of(folder, 1), body);
    EXPECT_FALSE(newest_checkpoint(folder.path()).value()) << body.substr(0, 300);
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
