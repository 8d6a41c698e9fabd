#include <zlib.h>

#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/damage.h"
#include "trainer/data/dataset.h"
#include "trainer/data/formats/formats.h"

namespace detol {
namespace {

using testing_support::expect_words;
using testing_support::write_bytes;

constexpr std::size_t kPixels = 3072;

// Record i has the label i % 4 and the first pixel i; all its other pixels are 10 (i % 4) + i.
class Cifar : public testing::Test {
 protected:
  void write(const std::string& name, int first, int count, bool hundred = false) const {
    std::string bytes;
    for (int i = first; i < first + count; ++i) {
      if (hundred) bytes += static_cast<char>(i % 2);
      bytes += static_cast<char>(i % 4);
      std::string pixels(kPixels, static_cast<char>(10 * (i % 4) + i));
      pixels[0] = static_cast<char>(i);
      bytes += pixels;
    }
    write_bytes(path(name), bytes);
  }

  void write_ten(int each = 4) const {
    for (int i = 0; i < 5; ++i)
      write("data_batch_" + std::to_string(i + 1) + ".bin", each * i, each);
    write("test_batch.bin", 100, 4);
  }

  void write_hundred() const {
    write("train.bin", 0, 12, true);
    write("test.bin", 100, 4, true);
  }

  void pack(const std::string& name) const {
    const std::string bytes = read_file(path(name)).value();
    gzFile file = gzopen((path(name).string() + ".gz").c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    std::filesystem::remove(path(name));
  }

  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  DataConfig config() const {
    return {.format = "cifar", .path = folder_.path().string(), .validation = 0.2};
  }

  testing_support::TempFolder folder_;
};

TEST_F(Cifar, EveryRecordIsReadWithItsOwnLabel) {
  write_ten();
  const Dataset data = load_dataset(config()).value();
  EXPECT_EQ(data.info.task.input, (Shape{3, 32, 32}));
  EXPECT_EQ(data.info.task.classes, 4);
  EXPECT_EQ(data.info.training, 16);
  EXPECT_EQ(data.info.validation, 4);
  EXPECT_EQ(data.info.test, 4);
  int sum = 0;
  for (std::int64_t i = 0; i < 24; ++i) {
    const int number = data.image(i)[0];
    sum += number;
    EXPECT_EQ(data.labels[static_cast<std::size_t>(i)], number % 4);
    EXPECT_EQ(data.image(i)[kPixels - 1], 10 * (number % 4) + number);
  }
  EXPECT_EQ(sum, 19 * 20 / 2 + 100 + 101 + 102 + 103);
}

TEST_F(Cifar, AHundredHasFineAndCoarseLabels) {
  write_hundred();
  DataConfig data = config();
  EXPECT_EQ(load_dataset(data)->info.task.classes, 4);
  data.labels = {"coarse"};
  EXPECT_EQ(load_dataset(data)->info.task.classes, 2);
  data.labels = {"finest"};
  expect_words(load_dataset(data), {"data.label", "fine or coarse"});
}

TEST_F(Cifar, ClassesHaveNamesWhereAFileSaysThem) {
  write_hundred();
  std::ofstream names(path("coarse_label_names.txt"));
  for (int i = 0; i < 20; ++i) names << "group_" << i << "\r\n";
  names << "\n" << std::flush;
  DataConfig data = config();
  EXPECT_TRUE(load_dataset(data)->class_names.empty());
  data.labels = {"coarse"};
  expect_words(load_dataset(data), {"class 2 ('group_2') has no image to train on"});
  names << "one too many\n" << std::flush;
  expect_words(load_dataset(data), {"coarse_label_names.txt", "21 class names"});
}

TEST_F(Cifar, AClassNameThatIsNotUtf8IsRefusedWithItsLine) {
  write_hundred();
  DataConfig data = config();
  data.labels = {"coarse"};
  write_bytes(path("coarse_label_names.txt"), "fish\nK\xe4se\n");
  expect_words(load_dataset(data), {"coarse_label_names.txt:2: ", "'K\\xe4se' is not UTF-8"});
}

TEST_F(Cifar, PackingChangesNothing) {
  write_ten();
  const Dataset plain = load_dataset(config()).value();
  pack("data_batch_3.bin");
  pack("test_batch.bin");
  const Dataset packed = load_dataset(config()).value();
  EXPECT_EQ(packed.images, plain.images);
  EXPECT_EQ(packed.info.fingerprint, plain.info.fingerprint);
  EXPECT_EQ(inspect_dataset(config())->fingerprint, plain.info.fingerprint);
}

TEST_F(Cifar, WhatIsWrongIsSaidWithItsPlace) {
  write_ten();
  std::string bytes = read_file(path("data_batch_2.bin")).value();
  bytes[3073] = 10;
  write_bytes(path("data_batch_2.bin"), bytes);
  expect_words(load_dataset(config()), {"data_batch_2.bin: byte 3073: label 10", "10 classes"});
  write_bytes(path("data_batch_2.bin"), bytes.substr(0, 3083));
  expect_words(load_dataset(config()), {"data_batch_2.bin: byte 3073: 10 bytes", "3073"});
  std::filesystem::remove(path("data_batch_2.bin"));
  expect_words(load_dataset(config()), {"data_batch_2.bin is not there", "--data"});
  DataConfig data = config();
  data.path = path("test_batch.bin");
  expect_words(load_dataset(data), {"not a folder", "--data"});
}

TEST_F(Cifar, SurvivesEveryCutAndFlippedLabel) {
  write_ten(1);
  write("data_batch_1.bin", 0, 1);
  write("test_batch.bin", 100, 1);
  testing_support::survive_every_cut(config(), path("test_batch.bin"));
  testing_support::survive_flipped_bits(config(), path("test_batch.bin"), 2);
  pack("test_batch.bin");
  testing_support::survive_every_cut(config(), path("test_batch.bin.gz"));
  testing_support::survive_flipped_bits(config(), path("test_batch.bin.gz"));
}

}  // namespace
}  // namespace detol
