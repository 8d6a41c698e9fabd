#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/damage.h"
#include "trainer/data/augment.h"
#include "trainer/data/dataset.h"
#include "trainer/data/formats/formats.h"
#include "trainer/data/formats/inputs.h"

namespace detol {
namespace {

using testing_support::expect_words;
using testing_support::write_bytes;

std::string dictionary(const std::string& type, const std::string& sizes,
                       const std::string& order = "False") {
  return "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': (" + sizes + "), }\n";
}

std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += '\0';
  for (int shift = 0; shift < (version == 1 ? 16 : 32); shift += 8)
    bytes += static_cast<char>(header.size() >> shift & 0xff);
  return bytes + header + data;
}

template <typename Number>
std::string bytes_of(const std::vector<Number>& numbers, bool is_swapped = false) {
  std::string bytes;
  for (const Number number : numbers) {
    std::string element(sizeof(Number), '\0');
    std::memcpy(element.data(), &number, sizeof(Number));
    if (is_swapped) std::ranges::reverse(element);
    bytes += element;
  }
  return bytes;
}

class Npy : public testing::Test {
 protected:
  // Writes ten labels: that of sample i is i % 2.
  void write_labels(const std::string& name = "y.npy") const {
    write_bytes(path(name), npy(dictionary("<i8", "10,"), bytes_of(labels())));
  }
  static std::vector<std::int64_t> labels() { return {0, 1, 0, 1, 0, 1, 0, 1, 0, 1}; }

  // Returns images of 2 x 2 pixels: pixel p of channel c of image i is 20 i + 4 c + p. `is_last`
  // puts the channels last.
  static std::string images(int count, int channels, bool is_last) {
    std::string data;
    for (int i = 0; i < count; ++i) {
      for (int n = 0; n < 4 * channels; ++n) {
        const int channel = is_last ? n % channels : n / 4;
        const int pixel = is_last ? n / channels : n % 4;
        data += static_cast<char>(20 * i + 4 * channel + pixel);
      }
    }
    return data;
  }

  void expect_images(const Dataset& data) const {
    ASSERT_TRUE(data.has_bytes());
    int sum = 0;
    for (std::int64_t i = 0; i < 10; ++i) {
      const auto image = data.image(i);
      const int number = image[0] / 20;
      sum += number;
      EXPECT_EQ(data.labels[static_cast<std::size_t>(i)], number % 2);
      for (std::size_t n = 0; n < image.size(); ++n)
        EXPECT_EQ(image[n], static_cast<int>(n) + 20 * number);
    }
    EXPECT_EQ(sum, 45);
  }

  void write_npz(const std::string& name, const std::vector<std::string>& members) const {
    archive* writer = archive_write_new();
    archive_write_set_format_zip(writer);
    archive_write_open_filename(writer, path(name).c_str());
    for (const std::string& member : members) {
      const std::string bytes = read_file(path(member)).value();
      archive_entry* entry = archive_entry_new();
      archive_entry_set_pathname(entry, member.c_str());
      archive_entry_set_filetype(entry, AE_IFREG);
      archive_entry_set_size(entry, static_cast<la_int64_t>(bytes.size()));
      archive_write_header(writer, entry);
      archive_write_data(writer, bytes.data(), bytes.size());
      archive_entry_free(entry);
    }
    archive_write_free(writer);
  }

  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  DataConfig config(const std::string& name = "") const {
    const auto at = name.empty() ? folder_.path() : path(name);
    return {.format = "npy", .path = at.string(), .validation = 0.2};
  }

  testing_support::TempFolder folder_;
};

// Returns ten records of two numbers: i and 2 i.
std::string ten_records() {
  std::vector<float> numbers;
  for (int i = 0; i < 10; ++i)
    numbers.insert(numbers.end(), {static_cast<float>(i), static_cast<float>(2 * i)});
  return npy(dictionary("<f4", "10, 2"), bytes_of(numbers));
}

TEST_F(Npy, RegressionTargetsAreFloatsInsteadOfLabels) {
  write_bytes(path("x.npy"), ten_records());
  std::vector<double> written;
  for (int i = 0; i < 10; ++i) written.insert(written.end(), {0.5 * i, -3.0 * i, 100.0 + i});
  write_bytes(path("y.npy"), npy(dictionary("<f8", "10, 3"), bytes_of(written)));
  DataConfig numbers = config();
  numbers.task = TaskKind::kRegression;
  const Dataset data = load_dataset(numbers).value();
  EXPECT_EQ(data.info.task.kind, TaskKind::kRegression);
  EXPECT_EQ(data.info.task.classes, 3);
  EXPECT_TRUE(data.labels.empty());
  for (std::int64_t i = 0; i < 10; ++i) {
    const float x = data.values_of(i)[0];
    const float* targets = &data.targets[static_cast<std::size_t>(3 * i)];
    EXPECT_EQ(targets[0], 0.5F * x);
    EXPECT_EQ(targets[1], -3 * x);
    EXPECT_EQ(targets[2], 100 + x);
  }
  EXPECT_EQ(inspect_dataset(numbers)->fingerprint, data.info.fingerprint);
}

TEST_F(Npy, ConstantTargetsAreFoundByInspectingToo) {
  write_bytes(path("x.npy"), ten_records());
  std::vector<float> written;
  for (int i = 0; i < 10; ++i) written.insert(written.end(), {static_cast<float>(i % 2), 1});
  write_bytes(path("y.npy"), npy(dictionary("<f4", "10, 2"), bytes_of(written)));
  for (const TaskKind task : {TaskKind::kRegression, TaskKind::kMultiLabel}) {
    DataConfig constant = config();
    constant.task = task;
    const auto loaded = load_dataset(constant);
    const auto inspected = inspect_dataset(constant);
    ASSERT_FALSE(inspected);
    EXPECT_NE(loaded.error().message.find(" 2 is 1 in every record"), std::string::npos);
    EXPECT_EQ(inspected.error().message, loaded.error().message);
  }
}

TEST_F(Npy, LabelsOfSeveralColumnsAreThereOrNot) {
  write_bytes(path("x.npy"), ten_records());
  std::string written;
  for (int i = 0; i < 10; ++i) {
    written += static_cast<char>(i % 2);
    written += static_cast<char>(i / 5);
  }
  write_bytes(path("y.npy"), npy(dictionary("|b1", "10, 2"), written));
  DataConfig labels = config();
  labels.task = TaskKind::kMultiLabel;
  const Dataset data = load_dataset(labels).value();
  EXPECT_EQ(data.info.task.classes, 2);
  for (std::int64_t i = 0; i < 10; ++i) {
    const int x = static_cast<int>(data.values_of(i)[0]);
    EXPECT_EQ(data.targets[static_cast<std::size_t>(2 * i)], x % 2);
    EXPECT_EQ(data.targets[static_cast<std::size_t>(2 * i + 1)], x / 5);
  }
}

TEST_F(Npy, WhatIsNoTargetIsSaidWithItsByte) {
  write_bytes(path("x.npy"), ten_records());
  DataConfig other = config();
  const auto write_targets = [&](float last) {
    std::vector<float> written(10, 1);
    written[0] = 0;
    written.back() = last;
    write_bytes(path("y.npy"), npy(dictionary("<f4", "10,"), bytes_of(written)));
  };
  write_targets(NAN);
  other.task = TaskKind::kRegression;
  expect_words(load_dataset(other), {"y.npy: byte ", "nan: all numbers must be finite"});
  write_targets(2);
  other.task = TaskKind::kMultiLabel;
  expect_words(load_dataset(other), {"y.npy: byte ", "2 is neither 0 nor 1"});
  other.task = TaskKind::kClassification;
  expect_words(load_dataset(other), {"labels must be whole numbers", "say data.task: regression"});
  other.labels = {"a", "b"};
  other.task = TaskKind::kRegression;
  expect_words(load_dataset(other), {"data.label names 2 arrays; there is one"});
}

TEST_F(Npy, ChannelsAreFoundWhereTheyAre) {
  write_labels();
  const struct {
    std::string sizes;
    int channels;
    bool is_last;
    std::string layout = {};
  } table[] = {
      {"10, 2, 2", 1, false}, {"10, 2, 2, 3", 3, true, "hwc"}, {"10, 3, 2, 2", 3, false, "chw"}};
  for (const auto& row : table) {
    write_bytes(path("x.npy"),
                npy(dictionary("|u1", row.sizes), images(10, row.channels, row.is_last)));
    DataConfig data = config();
    data.layout = row.layout;
    const auto loaded = load_dataset(data);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->info.task.input, (Shape{row.channels, 2, 2}));
    expect_images(*loaded);
  }
}

TEST_F(Npy, ALayoutThatCannotBeKnownIsAskedFor) {
  write_labels();
  write_bytes(path("x.npy"), npy(dictionary("|u1", "10, 2, 2, 3"), images(10, 3, true)));
  expect_words(load_dataset(config()), {"x.npy: byte 77: sizes 10 x 2 x 2 x 3", "data.layout"});
}

TEST_F(Npy, NumbersOfEveryKindAndByteOrderAreTheSame) {
  std::vector<float> four;
  for (int i = 0; i < 10; ++i) four.insert(four.end(), {static_cast<float>(i), -0.5F});
  const std::vector<double> eight(four.begin(), four.end());
  const struct {
    std::string type, data, labels_type, labels;
  } table[] = {
      {"<f4", bytes_of(four), "<i8", bytes_of(labels())},
      {">f4", bytes_of(four, true), ">i8", bytes_of(labels(), true)},
      {"<f8", bytes_of(eight), "|b1", bytes_of(std::vector<char>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1})},
      {">f8", bytes_of(eight, true), ">u2",
       bytes_of(std::vector<std::uint16_t>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1}, true)},
  };
  for (const auto& row : table) {
    write_bytes(path("x.npy"), npy(dictionary(row.type, "10, 2"), row.data, 2));
    write_bytes(path("y.npy"), npy(dictionary(row.labels_type, "10, 1"), row.labels));
    const auto data = load_dataset(config());
    ASSERT_TRUE(data) << data.error().message;
    EXPECT_EQ(data->info.task.input, (Shape{2, 1, 1}));
    for (std::int64_t i = 0; i < 10; ++i) {
      EXPECT_EQ(data->values_of(i)[1], -0.5F);
      EXPECT_EQ(data->labels[static_cast<std::size_t>(i)],
                static_cast<int>(data->values_of(i)[0]) % 2);
    }
  }
}

TEST_F(Npy, ValidationAndTestMayHaveArraysOfTheirOwn) {
  for (const std::string part : {"train", "val", "test"}) {
    write_labels("y_" + part + ".npy");
    write_bytes(path("x_" + part + ".npy"),
                npy(dictionary("|u1", "10, 2, 2"), images(10, 1, false)));
  }
  const Dataset data = load_dataset(config()).value();
  EXPECT_EQ(data.info.training, 10);
  EXPECT_EQ(data.info.validation, 10);
  EXPECT_EQ(data.info.test, 10);
  EXPECT_EQ(data.image(11)[0], 20);
  EXPECT_EQ(data.image(25)[0], 100);
  EXPECT_EQ(inspect_dataset(config())->fingerprint, data.info.fingerprint);
  std::filesystem::remove(path("y_test.npy"));
  expect_words(load_dataset(config()), {"no array y_test, but there is x_test"});
}

TEST_F(Npy, AnNpzIsItsArrays) {
  write_labels();
  write_bytes(path("x.npy"), npy(dictionary("|u1", "10, 2, 2"), images(10, 1, false)));
  write_npz("all.npz", {"x.npy", "y.npy"});
  const auto data = load_dataset(config("all.npz"));
  ASSERT_TRUE(data) << data.error().message;
  expect_images(*data);
  EXPECT_EQ(data->info.fingerprint, load_dataset(config())->info.fingerprint);
  write_npz("half.npz", {"x.npy"});
  expect_words(load_dataset(config("half.npz")), {"half.npz: there is no array y;", "x_train"});
}

TEST_F(Npy, WhatIsWrongIsSaidWithItsPlace) {
  const std::string good = images(10, 1, false);
  const std::string start = dictionary("|u1", "10, 2, 2");
  const struct {
    std::string file;
    std::vector<std::string> words;
  } table[] = {
      {"NUMPY", {"x.npy: byte 5", "too early"}},
      {"\x93NUMPX\1" + std::string(3, '\0'), {"x.npy: byte 0: no NPY file"}},
      {npy(start, good, 4), {"byte 6: NPY version 4.0"}},
      {npy(start, good.substr(1)), {"byte 10: sizes 10 x 2 x 2 need 40 bytes", "at most 39"}},
      {npy(start, good + "x"), {"byte 114: 1 bytes follow"}},
      {npy(dictionary("|u1", "10, 2, 2", "True"), good), {"Fortran", "numpy.ascontiguousarray"}},
      {npy(dictionary("<c8", "10, 2, 2"), good), {"elements of type '<c8'"}},
      {npy(dictionary("|u1", "10, 0, 2"), good), {"a size is 0"}},
      {npy(dictionary("|u1", "10, 99999999999, 999999999999"), good), {"cut or damaged"}},
      {npy(dictionary("|u1", "10"), good), {"sizes 10: records have two sizes"}},
      {npy(dictionary("<f4", "10, 1"),
           bytes_of(std::vector<float>{0, 1, 2, NAN, 4, 5, 6, 7, 8, 9})),
       {"byte 83: nan in sample 3", "finite"}},
      {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (10,), }\n", good),
       {"named fields"}},
      {npy("{'descr': '|u1', 'shape': (10, 2, 2), }\n", good), {"is missing"}},
      {npy("{'descr': '|u1', 'descr': '|u1'}\n", good), {"unexpected key 'descr'"}},
  };
  write_labels();
  for (const auto& row : table) {
    write_bytes(path("x.npy"), row.file);
    expect_words(load_dataset(config()), row.words);
  }
}

TEST_F(Npy, WhatIsWrongWithLabelsIsSaidWithItsPlace) {
  write_bytes(path("x.npy"), npy(dictionary("|u1", "10, 2, 2"), images(10, 1, false)));
  const auto write = [&](const std::string& type, const std::string& sizes, const auto& numbers) {
    write_bytes(path("y.npy"), npy(dictionary(type, sizes), bytes_of(numbers)));
  };
  write("<i2", "10", std::vector<std::int16_t>{0, 1, -3, 0, 1, 0, 1, 0, 1, 0});
  expect_words(load_dataset(config()), {"y.npy: byte 72: label -3; labels count from 0"});
  write("<i2", "10", std::vector<std::int16_t>{0, 1, 0, 0, 1, 0, 1, 0, 1, 30000});
  expect_words(load_dataset(config()), {"y.npy: byte 86: label 30000", "has no image"});
  write("<u8", "10", std::vector<std::uint64_t>{~0ULL, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  expect_words(load_dataset(config()), {"y.npy: byte 68: label -1"});
  write("<f4", "10", std::vector<float>(10, 1));
  expect_words(load_dataset(config()), {"y.npy: byte 68: labels must be whole numbers"});
  write("|u1", "9", std::vector<char>(9, 1));
  expect_words(load_dataset(config()), {"y.npy: byte 67: labels of sizes 9, but there are 10"});
}

TEST_F(Npy, SurvivesEveryCutAndEveryFlippedBit) {
  write_labels();
  write_bytes(path("x.npy"), npy(dictionary("|u1", "10, 2, 2"), images(10, 1, false)));
  write_npz("all.npz", {"x.npy", "y.npy"});
  for (const char* name : {"x.npy", "y.npy"}) {
    testing_support::survive_every_cut(config(), path(name));
    testing_support::survive_flipped_bits(config(), path(name), 100);
  }
  testing_support::survive_every_cut(config("all.npz"), path("all.npz"));
  testing_support::survive_flipped_bits(config("all.npz"), path("all.npz"));
}

// Writes a table of ten records of two columns: seconds since 1970, and i.
template <typename Number>
std::string close_numbers(const char* type) {
  std::vector<Number> numbers;
  for (int i = 0; i < 10; ++i) {
    numbers.push_back(static_cast<Number>(1'700'000'000 + i));
    numbers.push_back(static_cast<Number>(i));
  }
  return npy(dictionary(type, "10, 2"), bytes_of(numbers));
}

TEST_F(Npy, NumbersThatAreCloseTogetherKeepTheirDistances) {
  write_labels();
  for (const std::string& array : {close_numbers<double>("<f8"), close_numbers<std::int64_t>("<i8"),
                                   close_numbers<std::uint32_t>("<u4")}) {
    write_bytes(path("x.npy"), array);
    const auto loaded = load_dataset(config());
    ASSERT_TRUE(loaded) << loaded.error().message;
    ASSERT_EQ(loaded->offsets.inputs.size(), 2u);
    EXPECT_EQ(loaded->offsets.inputs[1], 0);
    for (std::int64_t i = 0; i < 10; ++i) {
      const auto record = loaded->values_of(i);
      EXPECT_EQ(double{record[0]} + loaded->offsets.inputs[0], 1'700'000'000 + double{record[1]});
    }
    const auto reader = open_inputs(path("x.npy"), preprocessing_of(*loaded)).value();
    const Inputs inputs = reader->next(10).value();
    EXPECT_EQ(inputs.data.values_of(7)[0] - inputs.data.values_of(6)[0], 1);
  }
}

TEST_F(Npy, TargetsThatAreCloseTogetherKeepTheirDistances) {
  std::vector<double> targets;
  for (int i = 0; i < 10; ++i) targets.push_back(4e9 + 0.25 * i);
  write_bytes(path("y.npy"), npy(dictionary("<f8", "10,"), bytes_of(targets)));
  std::vector<float> numbers;
  for (int i = 0; i < 10; ++i) numbers.insert(numbers.end(), {static_cast<float>(i), 1.0F});
  write_bytes(path("x.npy"), npy(dictionary("<f4", "10, 2"), bytes_of(numbers)));
  DataConfig data = config();
  data.task = TaskKind::kRegression;
  const auto loaded = load_dataset(data);
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ(loaded->offsets.targets.size(), 1u);
  for (std::int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(double{loaded->targets[static_cast<std::size_t>(i)]} + loaded->offsets.targets[0],
              4e9 + 0.25 * double{loaded->values_of(i)[0]});
  }
}

}  // namespace
}  // namespace detol
