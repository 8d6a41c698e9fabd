// Data of the format csv: tables and sequences, their labels, parts and normalisation.

#include <zlib.h>

#include <cmath>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/trainer/csv_folder.h"
#include "trainer/data/augment.h"
#include "trainer/data/dataset.h"
#include "trainer/data/formats/formats.h"

namespace detol {
namespace {

class CsvData : public CsvFolder {
 protected:
  // Ten records of two columns: i, 100 (constant), and the label even or odd.
  static std::string ten(const std::string& header = "") {
    std::string text = header;
    for (int i = 0; i < 10; ++i)
      text += std::to_string(i) + ",100," + (i % 2 == 0 ? "even" : "odd") + "\n";
    return text;
  }
};

TEST_F(CsvData, ATableIsImagesOfOnePixel) {
  const Dataset data = load_dataset(config(ten())).value();
  EXPECT_EQ(data.info.task.input, (Shape{2, 1, 1}));
  EXPECT_EQ(data.info.task.classes, 2);
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"even", "odd"}));
  EXPECT_EQ(data.info.test, 2);
  EXPECT_EQ(data.info.validation, 1);
  EXPECT_EQ(data.info.training, 7);
  std::set<float> seen;
  for (std::int64_t i = 0; i < 10; ++i) {
    const auto record = data.values_of(i);
    seen.insert(record[0]);
    EXPECT_EQ(record[1], 100);
    EXPECT_EQ(data.labels[static_cast<std::size_t>(i)], static_cast<int>(record[0]) % 2);
  }
  EXPECT_EQ(seen.size(), 10u);
}

TEST_F(CsvData, ColumnsAreNormalisedByTheTrainingPart) {
  const Dataset data = load_dataset(config(ten())).value();
  const Normaliser normaliser(data);
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < data.info.training; ++i) {
    float out[2];
    normaliser.write(data, i, out);
    sum += out[0];
    squares += out[0] * out[0];
    EXPECT_EQ(out[1], 0) << "a constant column";
  }
  EXPECT_NEAR(sum, 0, 1e-5);
  EXPECT_NEAR(squares / static_cast<double>(data.info.training), 1, 1e-5);
}

TEST_F(CsvData, ASequenceIsOneRowOfOneChannel) {
  DataConfig sequences = config(
      "2,1,2,3,4\n1,5,6,7,8\n10,1,2,3,4\n2,5,6,7,8\n1,1,2,3,4\n10,5,6,7,8\n"
      "2,1,2,3,4\n1,5,6,7,8\n10,1,2,3,4\n2,5,6,7,8\n1,1,2,3,4\n10,1,1,1,1\n");
  sequences.labels = {"first"};
  sequences.sequence = true;
  const Dataset data = load_dataset(sequences).value();
  EXPECT_EQ(data.info.task.input, (Shape{1, 1, 4}));
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"1", "2", "10"}));
  EXPECT_EQ(data.mean.size(), 1u);
}

TEST_F(CsvData, AHeaderAndPackingChangeNothingElse) {
  const Dataset plain = load_dataset(config(ten())).value();
  const Dataset named = load_dataset(config(ten("a,b,parity\n"))).value();
  EXPECT_EQ(named.values, plain.values);
  EXPECT_EQ(named.labels, plain.labels);
  gzFile packed = gzopen(path("t.csv.gz").c_str(), "wb");
  gzputs(packed, ten().c_str());
  gzclose(packed);
  const Dataset unpacked = load_dataset({.format = "csv", .path = path("t.csv.gz")}).value();
  EXPECT_EQ(unpacked.values, plain.values);
  EXPECT_EQ(unpacked.info.fingerprint, plain.info.fingerprint);
}

TEST_F(CsvData, ALabelThatIsNotUtf8IsRefusedWithItsPlace) {
  const auto loaded = load_dataset(config(ten() + "11,100, \"K\xe4se\"\n"));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message,
            path() + ":11:9: the label 'K\\xe4se' is not UTF-8; save the file as UTF-8");
  EXPECT_TRUE(load_dataset(config(ten() + "11,100,K\xc3\xa4se\n12,100,K\xc3\xa4se\n" +
                                  "13,100,K\xc3\xa4se\n14,100,K\xc3\xa4se\n")));
}

TEST_F(CsvData, ANameOfATargetThatIsNotUtf8IsRefusedWithItsPlace) {
  DataConfig numbers = config("a,pr\xeds\n1,2\n2,3\n");
  numbers.task = TaskKind::kRegression;
  const auto loaded = load_dataset(numbers);
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(loaded.error().message.starts_with(path() + ":1:3: the name 'pr\\xeds'"));
}

TEST_F(CsvData, TheLabelMayBeAnyColumn) {
  DataConfig data = config("a,parity,b\n1,odd,2\n2,even,3\n3,odd,4\n4,even,4\n5,odd,4\n6,even,5\n");
  data.labels = {"parity"};
  data.validation = 0.2;
  EXPECT_EQ(load_dataset(data)->class_names, (std::vector<std::string>{"even", "odd"}));
  data.labels = {"partiy"};
  EXPECT_EQ(load_dataset(data).error().message,
            path() +
                ":1:1: data.label: unknown column 'partiy'; did you mean 'parity'? known: a, "
                "parity, b");
}

TEST_F(CsvData, AColumnCalledLastIsMeantByThatWord) {
  DataConfig data = config("a,last,b\n1,odd,2\n2,even,3\n3,odd,4\n4,even,4\n5,odd,4\n6,even,5\n");
  data.labels = {"last"};
  data.validation = 0.2;
  EXPECT_EQ(load_dataset(data)->class_names, (std::vector<std::string>{"even", "odd"}));
}

TEST_F(CsvData, TheLabelIsTheLastColumnByDefaultWhateverItIsCalled) {
  const DataConfig data = config("last,b,parity\n" + ten());
  EXPECT_EQ(load_dataset(data)->class_names, (std::vector<std::string>{"even", "odd"}));
}

TEST_F(CsvData, ALabelThatReadsFirstNamesNoColumn) {
  DataConfig data = config(
      "1,2,first\n2,3,second\n1,4,first\n2,4,second\n1,4,first\n2,5,first\n1,2,first\n"
      "2,6,second\n");
  data.labels = {"first"};
  EXPECT_EQ(load_dataset(data)->class_names, (std::vector<std::string>{"1", "2"}));
}

TEST_F(CsvData, TheTestPartMayBeAFileOfItsOwn) {
  DataConfig data = config(ten());
  data.test_path = path("test.csv");
  std::ofstream(data.test_path) << "7,1,even\n8,2,odd\n9,3,odd\n";
  const Dataset loaded = load_dataset(data).value();
  EXPECT_EQ(loaded.info.test, 3);
  EXPECT_EQ(loaded.info.training + loaded.info.validation, 10);
  EXPECT_EQ(loaded.values_of(10)[0], 7);
  EXPECT_EQ(loaded.labels[11], 1);
  std::ofstream(data.test_path) << "7,1,even\n8,2,odd\n9,4,odd\n";
  EXPECT_NE(load_dataset(data)->info.fingerprint, loaded.info.fingerprint);
  std::ofstream(data.test_path) << "7,1,even\n8,2,neither\n";
  EXPECT_EQ(load_dataset(data).error().message,
            path("test.csv") + ":2:5: the label 'neither' is not among those to train on");
  std::ofstream(data.test_path) << "7,even\n";
  EXPECT_EQ(load_dataset(data).error().message,
            path("test.csv") + ": 2 columns, but " + path() + " has 3");
}

TEST_F(CsvData, TheFingerprintIsOfTheFileAndHowItIsRead) {
  DataConfig data = config(ten());
  std::set<std::uint64_t> seen{inspect_dataset(data)->fingerprint};
  data.validation = 0.3;
  seen.insert(inspect_dataset(data)->fingerprint);
  data.sequence = true;
  seen.insert(inspect_dataset(data)->fingerprint);
  data.test = 0.4;
  seen.insert(inspect_dataset(data)->fingerprint);
  seen.insert(inspect_dataset(config(ten() + "11,100,odd\n"))->fingerprint);
  EXPECT_EQ(seen.size(), 5u);
}

TEST_F(CsvData, WhatIsWrongIsSaidWithItsPlace) {
  const struct {
    std::string text, message;
  } table[] = {
      {"", ": the file is empty"},
      {"a,b\n", ": there is no record below the header"},
      {"1\n2\n", ":1:1: one column"},
      {"1,a\nx,b\n", ":2:1: 'x' is no number, as the other cells of column 'column_1' are"},
      {"1,a\n1e39,b\n", ":2:1: '1e39' is not a finite number"},
      {"1,a\n2,\n", ":2:3: the label is missing"},
      {"1,a\n1,2,b\n", ":2:1: 3 cells, but the lines before have 2"},
      {"1,a\n2,b\n", ": data.split.test 0.2 of 2 records holds 0 out"},
      {"1,a\n2,a\n3,a\n4,a\n5,a\n6,a\n7,a\n8,a\n", ": all labels are 'a'"},
      {"x,y,\n1,a,\n2,b,\n3,a,\n4,b,\n",
       ": column 'column_3', the label, is empty in every record; data.label names another"},
      {"1,1.5\n2,2.5\n3,3.5\n4,4.5\n5,5.5\n6,6.5\n7,7.5\n8,8.5\n", ": of 8 labels, "},
  };
  for (const auto& row : table) {
    const auto data = load_dataset(config(row.text));
    ASSERT_FALSE(data) << row.text;
    EXPECT_TRUE(data.error().message.starts_with(path() + row.message)) << data.error().message;
    EXPECT_EQ(data.error().code, ErrorCode::kInput);
  }
}

}  // namespace
}  // namespace detol
