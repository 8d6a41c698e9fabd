#include "trainer/data/formats/packed.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/hash.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "trainer/data/formats/formats.h"
#include "trainer/data/formats/packed_layout.h"

namespace detol {
namespace {

using testing_support::write_bytes;
using testing_support::write_idx;

// PackedTest has a small data set as IDX files, and packed.
class PackedTest : public testing::Test {
 protected:
  PackedTest() {
    write_idx(folder_.path() / "idx");
    EXPECT_TRUE(write_packed(load_dataset(idx()).value(), 0.1, path()));
  }

  DataConfig idx() const { return {.format = "idx", .path = (folder_.path() / "idx").string()}; }
  DataConfig packed() const { return {.format = "packed", .path = path().string()}; }
  std::filesystem::path path() const { return folder_.path() / "d.detol"; }
  const std::filesystem::path& folder() const { return folder_.path(); }

  // Returns the error of loading once the file's bytes were changed so.
  std::string error_after(const std::function<void(std::string&)>& change) const {
    std::string bytes = read_file(path()).value();
    change(bytes);
    write_bytes(path(), bytes);
    const auto loaded = load_dataset(packed());
    if (loaded) return "none";
    EXPECT_EQ(loaded.error().code, ErrorCode::kInput);
    EXPECT_TRUE(loaded.error().message.starts_with(path().string())) << loaded.error().message;
    return loaded.error().message.substr(path().string().size());
  }

 private:
  testing_support::TempFolder folder_;
};

// Writes the right checksum of a header that was changed on purpose.
void seal(std::string& bytes) {
  std::uint64_t head = 0;
  std::memcpy(&head, &bytes[packed::kHeadBytesAt], sizeof head);
  const std::uint64_t sum =
      hash64(std::string_view(bytes).substr(packed::kLengthAt, head - packed::kLengthAt));
  std::memcpy(&bytes[packed::kHeadSumAt], &sum, sizeof sum);
}

void replace(std::string& bytes, std::string_view old, std::string_view by) {
  ASSERT_EQ(old.size(), by.size());
  bytes.replace(bytes.find(old), old.size(), by);
  seal(bytes);
}

void expect_same(const Dataset& found, const Dataset& expected) {
  EXPECT_EQ(found.info.fingerprint, expected.info.fingerprint);
  EXPECT_EQ(found.info.task.input, expected.info.task.input);
  EXPECT_EQ(found.info.task.kind, expected.info.task.kind);
  EXPECT_EQ(found.info.task.classes, expected.info.task.classes);
  EXPECT_EQ(found.info.training, expected.info.training);
  EXPECT_EQ(found.info.validation, expected.info.validation);
  EXPECT_EQ(found.info.test, expected.info.test);
  EXPECT_EQ(found.labels, expected.labels);
  EXPECT_EQ(found.targets, expected.targets);
  EXPECT_EQ(found.target_mean, expected.target_mean);
  EXPECT_EQ(found.target_deviation, expected.target_deviation);
  EXPECT_EQ(found.mean, expected.mean);
  EXPECT_EQ(found.deviation, expected.deviation);
  EXPECT_EQ(found.class_names, expected.class_names);
  ASSERT_EQ(found.has_bytes(), expected.has_bytes());
  const DatasetInfo& info = expected.info;
  for (std::int64_t i = 0; i < info.training + info.validation + info.test; ++i) {
    if (found.has_bytes())
      ASSERT_TRUE(std::ranges::equal(found.image(i), expected.image(i))) << i;
    else
      ASSERT_TRUE(std::ranges::equal(found.values_of(i), expected.values_of(i))) << i;
  }
}

TEST_F(PackedTest, HoldsWhatItWasPackedFrom) {
  expect_same(load_dataset(packed()).value(), load_dataset(idx()).value());
}

TEST_F(PackedTest, ImagesOfSeveralBlocksComeBack) {
  write_idx(folder() / "large", {.training = 40, .test = 12, .side = 210});
  const DataConfig large{.format = "idx", .path = (folder() / "large").string()};
  const Dataset data = load_dataset(large).value();
  ASSERT_TRUE(write_packed(data, 0.1, path()));
  expect_same(load_dataset(packed()).value(), data);
}

TEST_F(PackedTest, NumbersAndNamesOfATableComeBack) {
  std::string csv = "length,width,kind\n";
  for (int i = 0; i < 30; ++i)
    csv += std::to_string(i * 0.37) + ",2e-7," + (i % 2 != 0 ? "odd" : "even") + "\n";
  write_bytes(folder() / "t.csv", csv);
  const Dataset data =
      load_dataset({.format = "csv", .path = (folder() / "t.csv").string()}).value();
  ASSERT_TRUE(write_packed(data, 0.1, path()));
  expect_same(load_dataset(packed()).value(), data);
}

// Writes records of two numbers and two targets of 0 or 1, which a multi_label task can have, too.
DataConfig records(const std::filesystem::path& path, TaskKind task) {
  std::string csv = "a,b,odd,third\n";
  for (int i = 0; i < 30; ++i) {
    csv += std::to_string(i) + "," + std::to_string(i * i % 7) + "," + std::to_string(i % 2) + "," +
           std::to_string(i % 3 / 2) + "\n";
  }
  write_bytes(path, csv);
  return {.format = "csv", .path = path.string(), .task = task, .labels = {"odd", "third"}};
}

TEST_F(PackedTest, TargetsComeBackWithTheirTask) {
  for (const TaskKind task : {TaskKind::kRegression, TaskKind::kMultiLabel}) {
    const Dataset data = load_dataset(records(folder() / "t.csv", task)).value();
    ASSERT_TRUE(write_packed(data, 0.1, path()));
    DataConfig config = packed();
    config.task = task;
    expect_same(load_dataset(config).value(), data);
    EXPECT_EQ(inspect_dataset(config)->fingerprint, data.info.fingerprint);
  }
}

TEST_F(PackedTest, AnotherTaskThanItsOwnIsRefused) {
  const DataConfig numbers = records(folder() / "t.csv", TaskKind::kRegression);
  ASSERT_TRUE(write_packed(load_dataset(numbers).value(), 0.1, path()));
  EXPECT_EQ(load_dataset(packed()).error().message,
            path().string() +
                ": packed for data.task regression, but the study says classification; say "
                "data.task: regression, or pack the data again");
}

TEST_F(PackedTest, TwoClassesMayBeToldApartAsABinaryTask) {
  write_idx(folder() / "two", {.classes = 2});
  DataConfig two{.format = "idx", .path = (folder() / "two").string()};
  ASSERT_TRUE(write_packed(load_dataset(two).value(), 0.1, path()));
  DataConfig binary = packed();
  two.task = binary.task = TaskKind::kBinary;
  expect_same(load_dataset(binary).value(), load_dataset(two).value());
}

TEST_F(PackedTest, ATargetThatIsNoNumberIsRefusedUnderARightChecksum) {
  const DataConfig numbers = records(folder() / "t.csv", TaskKind::kRegression);
  const Dataset data = load_dataset(numbers).value();
  ASSERT_TRUE(write_packed(data, 0.1, path()));
  std::string bytes = read_file(path()).value();
  const std::string target_bytes(reinterpret_cast<const char*>(data.targets.data()),
                                 data.targets.size() * sizeof(float));
  const std::size_t at = bytes.find(target_bytes);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at + 8, 4, "\xff\xff\xff\x7f");
  seal(bytes);
  write_bytes(path(), bytes);
  DataConfig other = packed();
  other.task = TaskKind::kRegression;
  const std::string message = load_dataset(other).error().message;
  EXPECT_NE(message.find("byte " + std::to_string(at + 8) + ": nan"), std::string::npos) << message;
}

TEST_F(PackedTest, ATargetThatNeverChangesIsFoundBeforeTheTraining) {
  DataConfig numbers = records(folder() / "t.csv", TaskKind::kRegression);
  Dataset data = load_dataset(numbers).value();
  std::ranges::fill(data.targets, 1.0f);
  ASSERT_TRUE(write_packed(data, 0.1, path()));
  numbers = packed();
  numbers.task = TaskKind::kRegression;
  const auto seen = inspect_dataset(numbers);
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().message, load_dataset(numbers).error().message);
}

TEST_F(PackedTest, InspectionSaysTheSame) {
  EXPECT_EQ(inspect_dataset(packed())->fingerprint, inspect_dataset(idx())->fingerprint);
}

TEST_F(PackedTest, PackingAgainGivesTheSameBytes) {
  const std::string bytes = read_file(path()).value();
  ASSERT_TRUE(write_packed(load_dataset(packed()).value(), 0.1, path()));
  EXPECT_EQ(read_file(path()).value(), bytes);
}

TEST_F(PackedTest, AnotherSplitThanItsOwnIsRefused) {
  DataConfig other = packed();
  other.validation = 0.25;
  const auto loaded = load_dataset(other);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("say data.split.validation: 0.1"), std::string::npos)
      << loaded.error().message;
}

TEST_F(PackedTest, AForeignFileIsRefused) {
  EXPECT_EQ(error_after([](std::string& bytes) { bytes = "PK\x03\x04 a zip file"; }),
            ": byte 0: this is no file of `detol data pack`; copy the file or pack the data again");
}

TEST_F(PackedTest, ANewerVersionIsRefused) {
  EXPECT_EQ(error_after([](std::string& bytes) { bytes[7] = '3'; }).substr(0, 52),
            ": byte 7: format version '3', this detol reads 2; co");
}

TEST_F(PackedTest, AVersionWithOffsetsMustHaveSome) {
  EXPECT_NE(error_after([](std::string& bytes) {
              bytes[7] = '2';
            }).find("the list of offsets is impossible"),
            std::string::npos);
}

TEST_F(PackedTest, AFileCutAnywhereIsRefused) {
  const std::string bytes = read_file(path()).value();
  for (const std::size_t left : std::array{bytes.size() - 1, bytes.size() / 2, packed::kPage + 1,
                                           packed::kPage - 1, std::size_t{9}, std::size_t{0}}) {
    const std::string error = error_after([&](std::string& all) { all = bytes.substr(0, left); });
    EXPECT_TRUE(error.starts_with(": byte " + std::to_string(left) + ": ")) << left << error;
  }
}

TEST_F(PackedTest, ADamagedBlockIsFoundBeforeAnyImageIsRead) {
  const std::string error =
      error_after([](std::string& bytes) { bytes[bytes.size() - 5000] ^= 1; });
  EXPECT_TRUE(error.starts_with(": byte 4096: the checksum of block 1 of 1 is wrong")) << error;
}

TEST_F(PackedTest, AnyDamagedByteOfTheHeadIsFound) {
  const std::string bytes = read_file(path()).value();
  for (std::size_t at = 0; at < 8192; at += at < 400 ? 1 : 101) {
    const std::string error = error_after([&](std::string& all) {
      all = bytes;
      all[at] ^= 4;
    });
    EXPECT_NE(error, "none") << at;
  }
}

TEST_F(PackedTest, AHeaderThatLiesUnderARightChecksumIsRefused) {
  const std::string bytes = read_file(path()).value();
  using Edit = std::pair<std::string_view, std::string_view>;
  for (const auto& [right, wrong] :
       {Edit{R"("shape":[1,12,12])", R"("shape":[0,12,12])"},
        Edit{R"("shape":[1,12,12])", R"("shape":[1,1e9,2])"},
        Edit{R"("training":360)", R"("training":-36)"},
        Edit{R"("training":360)", R"("training":961)"},
        Edit{R"("training":360)", R"("training":{} )"}, Edit{R"("test":80)", R"("test":-1)"},
        Edit{R"("classes":4)", R"("classes":3)"}, Edit{R"("classes":4)", R"("classes":0)"},
        Edit{R"("task":"classification")", R"("task":"classificatiom")"},
        Edit{R"("task":"classification")", R"("task":"binary"        )"},
        Edit{R"("task":"classification")", R"("task":"regression"    )"},
        Edit{R"("block_images":480)", R"("block_images":510)"},
        Edit{R"("block_images":480)", R"("block_images":0  )"},
        Edit{R"("block_images":480)", R"("block_images":100)"},
        Edit{R"("block_bytes":69632)", R"("block_bytes":69633)"},
        Edit{R"("block_bytes":69632)", R"("block_bytes":8192 )"},
        Edit{R"("block_bytes":69632)", R"("block_bytes":0    )"},
        Edit{R"({"block_bytes")", R"(["block_bytes")"}}) {
    EXPECT_NE(error_after([&, right = right, wrong = wrong](std::string& all) {
                all = bytes;
                ASSERT_NE(all.find(right), std::string::npos) << right;
                replace(all, right, wrong);
              }),
              "none")
        << wrong;
  }
}

TEST_F(PackedTest, BytesBehindTheDataAreRefused) {
  EXPECT_NE(error_after([](std::string& bytes) { bytes += 'x'; }), "none");
}

TEST_F(PackedTest, ADiskThatIsNotThereIsAnErrorOfStorage) {
  const auto written = write_packed(load_dataset(idx()).value(), 0.1, folder() / "none" / "d");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kStorage);
}

}  // namespace
}  // namespace detol
