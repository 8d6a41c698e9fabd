// Tests that data whose file is a pipe without a writer, or a device without an end, are refused at
// once and in one line.

#include <fmt/format.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "core/table.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/damage.h"
#include "tests/trainer/picture_writer.h"
#include "trainer/data/formats/formats.h"
#include "trainer/table.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;

// Sample is data of a format of which the test replaces one file.
struct Sample {
  const char* format;
  const char* file;
  bool is_whole;                          // the file alone is the data, not its folder
  const char* says;                       // between the path and the kind of file
  void (*write_others)(const fs::path&);  // into this folder
};

void write_nothing(const fs::path&) {}

void write_pictures(const fs::path& folder) {
  for (const char* name : {"a", "b"}) {
    fs::create_directories(folder / name);
    for (int i = 0; i < 10; ++i)
      write_bytes(folder / name / fmt::format("{}.png", i),
                  png_of(plain(8, 8, {static_cast<std::uint8_t>(i)})));
  }
}

constexpr const char* kIs = ": it is a ";
constexpr Sample kSamples[] = {
    {"idx", "train-images-idx3-ubyte", false, kIs, [](const auto& f) { write_idx(f); }},
    {"cifar", "train.bin", false, kIs, [](const auto& f) { write_bytes(f / "test.bin", "x"); }},
    {"npy", "x_train.npy", false, kIs, [](const auto& f) { write_bytes(f / "y_train.npy", "x"); }},
    {"npy", "all.npz", true, ": it is not a folder", write_nothing},
    {"image_folder", "a/5.png", false, kIs, write_pictures},
    {"webdataset", "train-0.tar", false, kIs, write_nothing},
    {"webdataset", "all.tar", true, ": it is not a folder", write_nothing},
    {"csv", "t.csv", true, kIs, write_nothing},
    {"packed", "all.detol", true, kIs, write_nothing},
    {"hdf5", "all.h5", true, kIs, write_nothing},
};

class SpecialFile : public testing::TestWithParam<Sample> {
 protected:
  SpecialFile() {
    GetParam().write_others(folder_.path());
    fs::remove(file());
  }

  fs::path file() const { return folder_.path() / GetParam().file; }

  void expect_refused() const {
    if (find_row(formats(), GetParam().format) == nullptr) GTEST_SKIP() << "not built";
    const fs::path path = GetParam().is_whole ? file() : folder_.path();
    const DataConfig config{.format = GetParam().format, .path = path.string()};
    expect_words(load_dataset(config), {file().string() + GetParam().says});
    EXPECT_FALSE(inspect_dataset(config));
  }

 private:
  TempFolder folder_;
};

TEST_P(SpecialFile, ThatIsAPipeIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  expect_refused();
}

TEST_P(SpecialFile, ThatIsADeviceIsNotReadWithoutAnEnd) {
  fs::create_symlink("/dev/zero", file());
  const MemoryLimit limit;
  expect_refused();
}

INSTANTIATE_TEST_SUITE_P(All, SpecialFile, testing::ValuesIn(kSamples), [](const auto& tested) {
  return fmt::format("{}_{}", tested.param.format, tested.index);
});

TEST(SpecialTable, OfScoresIsRefusedLikewise) {
  const TableConfig config{.path = "/dev/zero", .source = "", .key = {}, .metrics = {}, .cost = ""};
  EXPECT_EQ(Table::load(config).error().message,
            "cannot read /dev/zero: it is a device; name a regular file");
}

}  // namespace
}  // namespace detol
