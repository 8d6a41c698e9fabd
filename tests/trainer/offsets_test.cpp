// Numbers that are close together, compared with how large they are, keep their distances on the
// way from a file to a network, and predictions their last digits.

#include "trainer/data/offsets.h"

#include <fmt/format.h>

#include <fstream>
#include <functional>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "tests/trainer/csv_folder.h"
#include "trainer/data/formats/formats.h"
#include "trainer/data/formats/inputs.h"
#include "trainer/data/formats/packed.h"
#include "trainer/data/preprocessing.h"
#include "trainer/data/table_encoder.h"
#include "trainer/predict.h"

namespace detol {
namespace {

double offset_of(const std::vector<double>& numbers) {
  OffsetFinder finder;
  for (const double number : numbers) finder.add(number);
  return finder.offset();
}

// Returns `count` numbers from `first` on.
std::vector<double> numbers_from(double first, double step, int count) {
  std::vector<double> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(first + step * i);
  return numbers;
}

TEST(OffsetFinder, CommonNumbersHaveNone) {
  EXPECT_EQ(offset_of(numbers_from(-1.5, 0.1, 40)), 0);
  EXPECT_EQ(offset_of(numbers_from(1990, 1, 31)), 0) << "years";
  EXPECT_EQ(offset_of(numbers_from(0, 1000, 40)), 0);
  EXPECT_EQ(offset_of({}), 0);
  EXPECT_EQ(offset_of({1.7e9, 1.7e9, 1.7e9}), 0) << "a constant has no distances";
}

TEST(OffsetFinder, NumbersThatFloatsCannotTellApartHaveOneAmongThem) {
  const double offset = offset_of(numbers_from(1.7e9, 1, 60));
  EXPECT_GE(offset, 1.7e9);
  EXPECT_LT(offset, 1.7e9 + 60);
  EXPECT_NE(offset_of(numbers_from(16'777'216, 1, 60)), 0);
  EXPECT_NE(offset_of(numbers_from(-19783, 1.0 / 86400, 60)), 0);
}

// The spread is half the distance of the quartiles, 10 of 40 numbers one apart.
TEST(OffsetFinder, NumbersHaveOneFrom4096TimesTheirSpreadOn) {
  EXPECT_EQ(offset_of(numbers_from(4096 * 10 - 60, 1, 40)), 0);
  EXPECT_NE(offset_of(numbers_from(4096 * 10 + 60, 1, 40)), 0);
}

TEST(OffsetFinder, AFewZerosThatStandForMissingNumbersChangeNothing) {
  std::vector<double> numbers = numbers_from(1.7e9, 1, 60);
  for (int i = 0; i < 10; ++i) numbers.push_back(0);
  numbers.push_back(std::numeric_limits<double>::quiet_NaN());
  EXPECT_GE(offset_of(numbers), 1.7e9);
}

TEST(OffsetFinder, LooksAtAllOfALongColumn) {
  std::vector<double> numbers = numbers_from(1.7e9, 1, 1200);
  for (int i = 0; i < 100'000; ++i) numbers.push_back(i);
  EXPECT_EQ(offset_of(numbers), 0);
}

class CloseNumbers : public CsvFolder {
 protected:
  // Sixty records, one a second: of a whole minute as text, a number, and the label or a target.
  static std::string minute(const std::function<std::string(int)>& cell,
                            const std::function<std::string(int)>& label) {
    std::string text = "t,z,y\n";
    for (int i = 0; i < 60; ++i) text += fmt::format("{},{},{}\n", cell(i), (i * 7) % 10, label(i));
    return text;
  }
  static std::string half(int i) { return i < 30 ? "early" : "late"; }
  static std::string epoch(int i) { return std::to_string(1'700'000'000 + i); }
  static std::string stamp(int i) { return fmt::format("2024-03-01T12:00:{:02}", i); }

  // Returns what the network reads of column t, in the order of its records.
  std::vector<float> read(const std::string& text, const std::string& numbers = "standard") const {
    DataConfig data = config(text);
    data.columns.numbers = numbers;
    data.columns.bins = 16;
    return inputs_of(load_dataset(data).value());
  }
  static std::vector<float> inputs_of(const Dataset& data) {
    const std::int64_t all = data.info.training + data.info.validation + data.info.test;
    return normalised_images(data, {0, all});
  }
};

TEST_F(CloseNumbers, OneMinuteIsReadAlikeHoweverItIsWritten) {
  for (const std::string encoding : {"standard", "quantile", "piecewise"}) {
    const auto seconds = read(minute([](int i) { return std::to_string(i); }, half), encoding);
    const auto since = read(minute(epoch, half), encoding);
    const auto stamps = read(minute(stamp, half), encoding);
    ASSERT_EQ(seconds.size(), since.size());
    ASSERT_EQ(seconds.size(), stamps.size());
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      EXPECT_NEAR(since[i], seconds[i], 1e-5) << encoding;
      EXPECT_NEAR(stamps[i], seconds[i], 1e-3) << encoding;
    }
  }
}

TEST_F(CloseNumbers, NumbersAboveTwoToThe24AreAllDifferent) {
  const Dataset data =
      load_dataset(config(minute([](int i) { return std::to_string(123'456'789'000 + i); }, half)))
          .value();
  std::set<float> different;
  for (std::int64_t i = 0; i < 60; ++i) different.insert(data.values_of(i)[0]);
  EXPECT_EQ(different.size(), 60u);
}

TEST_F(CloseNumbers, ATableOfCommonNumbersIsKeptAsItIs) {
  const Dataset data =
      load_dataset(config(minute([](int i) { return std::to_string(i); }, half))).value();
  EXPECT_EQ(data.offsets, Offsets());
}

TEST_F(CloseNumbers, NewRecordsAreReadAsThoseToTrainOn) {
  const std::string text = minute(epoch, half);
  const Dataset data = load_dataset(config(text)).value();
  const auto reader = open_inputs(path(), preprocessing_of(data)).value();
  const Inputs inputs = reader->next(100).value();
  ASSERT_EQ(inputs.count(), 60);
  std::multiset<float> read, trained;
  for (std::int64_t i = 0; i < 60; ++i) {
    read.insert(inputs.data.values_of(i)[0]);
    trained.insert(data.values_of(i)[0]);
  }
  EXPECT_EQ(read, trained);
}

TEST_F(CloseNumbers, ATestFileIsReadAsTheOneToTrainOn) {
  DataConfig data = config(minute(epoch, half));
  data.test_path = path("test.csv");
  std::ofstream(data.test_path) << "t,z,y\n1700000007,0,early\n1700000008,0,late\n";
  const Dataset loaded = load_dataset(data).value();
  const std::int64_t first = loaded.info.training + loaded.info.validation;
  EXPECT_EQ(loaded.values_of(first + 1)[0] - loaded.values_of(first)[0], 1);
  EXPECT_EQ(double{loaded.values_of(first)[0]} + loaded.offsets.inputs[0], 1'700'000'007);
}

TEST_F(CloseNumbers, ASequencesNumbersShareOneOffset) {
  std::string text;
  for (int i = 0; i < 20; ++i)
    text += fmt::format("{},{},{},{}\n", 1'000'000'000 + i, 1'000'000'003 + 2 * i,
                        1'000'000'001 + i, i % 2);
  DataConfig data = config(text);
  data.sequence = true;
  const Dataset loaded = load_dataset(data).value();
  ASSERT_EQ(loaded.offsets.inputs.size(), 1u);
  for (std::int64_t i = 0; i < 20; ++i) {
    const auto record = loaded.values_of(i);
    EXPECT_EQ(record[2] - record[0], 1);
  }
}

TEST_F(CloseNumbers, TargetsKeepTheirDistancesAndPredictionsTheirDigits) {
  DataConfig data = config(minute([](int i) { return std::to_string(i); },
                                  [](int i) { return std::to_string(4e9 + 0.25 * i); }));
  data.task = TaskKind::kRegression;
  const Dataset loaded = load_dataset(data).value();
  ASSERT_EQ(loaded.offsets.targets.size(), 1u);
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < loaded.info.training; ++i) {
    float target = 0;
    loaded.write_targets(i, 0, {.labels = {}, .targets = {&target, 1}});
    sum += target;
    squares += target * target;
    const double read = double{loaded.targets[static_cast<std::size_t>(i)]};
    const double time = double{loaded.values_of(i)[0]};
    EXPECT_EQ(read + loaded.offsets.targets[0], 4e9 + 0.25 * time);
  }
  const auto n = static_cast<double>(loaded.info.training);
  EXPECT_NEAR(sum / n, 0, 1e-5);
  EXPECT_NEAR(squares / n, 1, 1e-5);
}

TEST_F(CloseNumbers, ThatAreAConstantTargetAreNamedAsTheyAre) {
  DataConfig data = config(minute([](int i) { return std::to_string(i); },
                                  [](int) { return std::string("4000000000"); }));
  data.task = TaskKind::kRegression;
  const auto loaded = load_dataset(data);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("is 4000000000 in every record"), std::string::npos)
      << loaded.error().message;
}

TEST_F(CloseNumbers, ArePackedWithTheirOffsets) {
  DataConfig data = config(minute(epoch, half));
  const Dataset loaded = load_dataset(data).value();
  ASSERT_FALSE(is_encoded(loaded));
  ASSERT_TRUE(write_packed(loaded, data.validation, path("t.detol")));
  const Dataset packed = load_dataset({.format = "packed", .path = path("t.detol")}).value();
  EXPECT_EQ(packed.offsets, loaded.offsets);
  EXPECT_EQ(packed.info.fingerprint, loaded.info.fingerprint);
  for (std::int64_t i = 0; i < 60; ++i) EXPECT_EQ(packed.values_of(i)[0], loaded.values_of(i)[0]);
}

}  // namespace
}  // namespace detol
