#include <hdf5.h>
#include <sys/stat.h>

#include <cmath>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/rng.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/damage.h"
#include "trainer/data/dataset.h"
#include "trainer/data/formats/formats.h"

namespace detol {
namespace {

using testing_support::expect_words;

class Hdf5 : public testing::Test {
 protected:
  Hdf5() : file_(H5Fcreate(path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {}
  ~Hdf5() override { finish(); }

  void write(const std::string& name, const std::vector<hsize_t>& sizes, hid_t type,
             const void* data) const {
    const hid_t space = H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr);
    const hid_t array =
        H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    H5Dclose(array);
    H5Sclose(space);
  }

  // Writes ten images of 2 x 2; image i has the pixels 20 i to 20 i + 3 and the label i % 2.
  void write_ten() const {
    std::vector<std::uint8_t> pixels;
    for (int i = 0; i < 10; ++i) {
      for (int n = 0; n < 4; ++n) pixels.push_back(static_cast<std::uint8_t>(20 * i + n));
    }
    write("images", {10, 2, 2}, H5T_NATIVE_UINT8, pixels.data());
    write_labels();
  }

  void write_labels(std::int16_t last = 1) const {
    const std::int16_t labels[] = {0, 1, 0, 1, 0, 1, 0, 1, 0, last};
    write("labels", {10}, H5T_NATIVE_INT16, labels);
  }

  void finish() {
    if (file_ >= 0) H5Fclose(file_);
    file_ = -1;
  }

  std::filesystem::path path() const { return folder_.path() / "data.h5"; }
  DataConfig config() const {
    return {.format = "hdf5", .path = path().string(), .validation = 0.2};
  }

  testing_support::TempFolder folder_;
  hid_t file_;
};

TEST_F(Hdf5, ImagesAndLabelsAreReadByName) {
  write_ten();
  finish();
  const auto data = load_dataset(config());
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->info.task.input, (Shape{1, 2, 2}));
  EXPECT_EQ(data->info.training, 6);
  for (std::int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(data->labels[static_cast<std::size_t>(i)], data->image(i)[0] / 20 % 2);
    EXPECT_EQ(data->image(i)[3], data->image(i)[0] + 3);
  }
  EXPECT_EQ(inspect_dataset(config())->fingerprint, data->info.fingerprint);
  DataConfig other = config();
  other.images = "pictures";
  expect_words(load_dataset(other), {"data.h5: there is no array pictures"});
}

TEST_F(Hdf5, ALinkIntoAnotherFileIsNotFollowed) {
  write_ten();
  H5Ldelete(file_, "images", H5P_DEFAULT);
  H5Lcreate_external("other.h5", "images", file_, "images", H5P_DEFAULT, H5P_DEFAULT);
  finish();
  ASSERT_EQ(::mkfifo((folder_.path() / "other.h5").c_str(), 0600), 0);
  expect_words(load_dataset(config()), {"data.h5: there is no array"});
}

// Makes random edits of several bytes: the library crashes on some, in a process of its own.
TEST_F(Hdf5, ADamagedFileCrashesNoCaller) {
  write_ten();
  finish();
  const std::string good = read_file(path()).value();
  for (std::uint64_t n = 0; n < 300; ++n) {
    Rng rng = Rng(20261123).split(n);
    std::string bytes = good;
    for (std::uint64_t edits = 1 + rng.below(4); edits > 0; --edits) {
      const std::size_t at = rng.below(bytes.size());
      if (rng.chance(0.5))
        bytes[at] = static_cast<char>(rng.below(256));
      else
        bytes.erase(at, 1 + rng.below(16));
    }
    testing_support::write_bytes(path(), bytes);
    testing_support::is_refused_well(config(), "seed " + std::to_string(n));
  }
}

TEST_F(Hdf5, NumbersOutsideOfTheFileAreNotRead) {
  write_labels();
  const hsize_t sizes[] = {10, 2, 2};
  const hid_t space = H5Screate_simple(3, sizes, nullptr), settings = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_external(settings, "/dev/zero", 0, 40);
  H5Dclose(
      H5Dcreate2(file_, "images", H5T_NATIVE_UINT8, space, H5P_DEFAULT, settings, H5P_DEFAULT));
  H5Pclose(settings);
  H5Sclose(space);
  finish();
  expect_words(load_dataset(config()), {"data.h5: images: its numbers lie in another file"});
}

TEST_F(Hdf5, RegressionTargetsAreFloatsInsteadOfLabels) {
  std::vector<double> values, targets;
  for (int i = 0; i < 10; ++i) {
    values.insert(values.end(), {1.0 * i, -1.0 * i});
    targets.insert(targets.end(), {0.5 * i, 100.0 + i});
  }
  write("images", {10, 2}, H5T_NATIVE_DOUBLE, values.data());
  write("labels", {10, 2}, H5T_NATIVE_DOUBLE, targets.data());
  finish();
  DataConfig numbers = config();
  numbers.task = TaskKind::kRegression;
  const auto data = load_dataset(numbers);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->info.task.classes, 2);
  for (std::int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(data->targets[static_cast<std::size_t>(2 * i)], data->values_of(i)[0] / 2);
    EXPECT_EQ(data->targets[static_cast<std::size_t>(2 * i + 1)], data->values_of(i)[0] + 100);
  }
  expect_words(load_dataset(config()), {"data.h5: labels: labels of sizes 10 x 2"});
}

TEST_F(Hdf5, ATargetThatIsNoneIsSaidWithItsSample) {
  const std::vector<double> values(20, 1);
  std::vector<double> targets(10, 1);
  targets[3] = INFINITY;
  write("images", {10, 2}, H5T_NATIVE_DOUBLE, values.data());
  write("labels", {10}, H5T_NATIVE_DOUBLE, targets.data());
  finish();
  DataConfig numbers = config();
  numbers.task = TaskKind::kRegression;
  expect_words(load_dataset(numbers), {"sample 3: inf: all numbers must be finite"});
}

TEST_F(Hdf5, ALabelBelowZeroIsSaidWithItsSample) {
  const std::vector<double> values(20, 1);
  write("images", {10, 2}, H5T_NATIVE_DOUBLE, values.data());
  write_labels(-4);
  finish();
  expect_words(load_dataset(config()), {"data.h5: labels: sample 9: label -4"});
}

TEST_F(Hdf5, ANumberThatIsNoneIsSaidWithItsSample) {
  std::vector<double> values(20, 1);
  values[7] = NAN;
  write("images", {10, 2}, H5T_NATIVE_DOUBLE, values.data());
  write_labels();
  finish();
  expect_words(load_dataset(config()), {"data.h5: images: nan in sample 3", "finite"});
}

TEST_F(Hdf5, SurvivesCutsAndFlippedBits) {
  write_ten();
  finish();
  testing_support::survive_every_cut(config(), path());
  testing_support::survive_flipped_bits(config(), path());
}

TEST_F(Hdf5, NumbersThatAreCloseTogetherKeepTheirDistances) {
  std::vector<double> numbers;
  for (int i = 0; i < 10; ++i) numbers.insert(numbers.end(), {1.7e9 + i, static_cast<double>(i)});
  write("x", {10, 2}, H5T_NATIVE_DOUBLE, numbers.data());
  std::vector<double> targets;
  for (int i = 0; i < 10; ++i) targets.push_back(4e9 + 0.25 * i);
  write("y", {10}, H5T_NATIVE_DOUBLE, targets.data());
  finish();
  DataConfig data = config();
  data.task = TaskKind::kRegression;
  const auto loaded = load_dataset(data);
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ(loaded->offsets.inputs.size(), 2u);
  ASSERT_EQ(loaded->offsets.targets.size(), 1u);
  for (std::int64_t i = 0; i < 10; ++i) {
    const auto record = loaded->values_of(i);
    EXPECT_EQ(double{record[0]} + loaded->offsets.inputs[0], 1.7e9 + double{record[1]});
    EXPECT_EQ(double{loaded->targets[static_cast<std::size_t>(i)]} + loaded->offsets.targets[0],
              4e9 + 0.25 * double{record[1]});
  }
}

}  // namespace
}  // namespace detol
