// Tests that checkpoints of every version are read. The files of golden/ were written by older
// commits: version 1 by fe1b743, 2 by 31db9af, 3 by 68a0518, 4 by the
// commit that introduced it.

#include <algorithm>

#include "core/file.h"
#include "core/hash.h"
#include "tests/trainer/checkpoint_samples.h"
#include "trainer/checkpoint_format.h"

namespace detol::testing_support {
namespace {

namespace fs = std::filesystem;

std::string golden(int version) {
  return read_file(fs::path(DETOL_SOURCE_DIR) / "tests/trainer/golden" /
                   ("checkpoint-v" + std::to_string(version) + ".ckpt"))
      .value();
}

// Returns what the file of each version holds.
Checkpoint golden_checkpoint(int version) {
  Checkpoint checkpoint = example(2);
  TrainingState& state = checkpoint.state;
  if (version >= 2) {
    state.average = {{"conv1.weight", {2, 1, 1, 1}, {0.25f, -0.125f}},
                     {"bn1.running_var", {1}, {4}}};
  }
  if (version >= 3) {
    state.residuals = {{{"conv1.weight", {2, 1, 1, 1}, {0.5f, 1}}},
                       {{"conv1.weight", {2, 1, 1, 1}, {-0.5f, -1}}}};
    state.pending = {{{"conv1.weight", {2, 1, 1, 1}, {7, 8}}}};
  }
  if (version >= 4) {
    checkpoint.history.back().is_best = false;
    checkpoint.best = {{"conv1.weight", {2, 1, 1, 1}, {0.75f, 2}}, {"bn1.running_var", {1}, {1}}};
  }
  return checkpoint;
}

std::string with_version(std::string bytes, char version) {
  bytes.resize(bytes.size() - sizeof(std::uint64_t));
  bytes[7] = version;
  const std::uint64_t checksum = hash64(bytes);
  return bytes.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
}

class CheckpointVersion : public testing::TestWithParam<int> {};

TEST_P(CheckpointVersion, IsReadAsItWasWritten) {
  const std::string bytes = golden(GetParam());
  EXPECT_EQ(bytes[7], static_cast<char>('0' + GetParam()));
  const auto checkpoint = from_bytes(bytes);
  ASSERT_TRUE(checkpoint) << checkpoint.error().reason;
  expect_equal(*checkpoint, golden_checkpoint(GetParam()));
}

TEST_P(CheckpointVersion, IsWrittenWithTheSameBytes) {
  EXPECT_EQ(to_bytes(golden_checkpoint(GetParam())), golden(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Golden, CheckpointVersion, testing::Values(1, 2, 3, 4));

TEST(CheckpointVersions, AboveTheNewestAreNewerAndAnyOtherSignIsDamage) {
  const auto newer = from_bytes(with_version(golden(1), '5'));
  ASSERT_FALSE(newer);
  EXPECT_TRUE(newer.error().newer);
  EXPECT_EQ(newer.error().reason, "it has format version 5, this detol reads up to 4");
  for (const char sign : {'0', ' ', 'a', '\xff'}) {
    const auto strange = from_bytes(with_version(golden(1), sign));
    ASSERT_FALSE(strange);
    EXPECT_FALSE(strange.error().newer) << sign;
  }
}

}  // namespace
}  // namespace detol::testing_support
