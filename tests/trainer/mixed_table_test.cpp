// Tables as people have them: what is found in a file, and what a network reads of it.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/trainer/csv_folder.h"
#include "trainer/data/augment.h"
#include "trainer/data/dataset.h"
#include "trainer/data/formats/csv_look.h"
#include "trainer/data/formats/formats.h"
#include "trainer/data/table_encoder.h"

namespace detol {
namespace {

class MixedTable : public CsvFolder {
 protected:
  TableLook look(const DataConfig& config) const {
    return look_at_table(config, config.path).value();
  }
  static std::vector<float> inputs_of(const Dataset& data, std::int64_t record) {
    std::vector<float> inputs(static_cast<std::size_t>(data.info.task.input.elements()));
    Normaliser(data).write(data, record, inputs);
    return inputs;
  }

  // Forty records: a number, a colour, a number that is missing in every fourth, and a label.
  static std::string forty(const std::string& header = "size,colour,age,kind\n") {
    std::string text = header;
    for (int i = 0; i < 40; ++i) {
      text += std::to_string(i % 10) + (i % 3 == 0 ? ",red," : ",blue,") +
              (i % 4 == 0 ? "?" : std::to_string(i)) + (i % 2 == 0 ? ",even\n" : ",odd\n");
    }
    return text;
  }
};

TEST_F(MixedTable, ColumnsOfNumbersCategoriesAndGapsAreFound) {
  const TableLook found = look(config(forty()));
  EXPECT_TRUE(found.has_header);
  EXPECT_EQ(found.records, 40);
  ASSERT_EQ(found.columns.size(), 4u);
  EXPECT_EQ(found.columns[0].kind, ColumnKind::kNumber);
  EXPECT_EQ(found.columns[1].kind, ColumnKind::kCategory);
  EXPECT_EQ(found.columns[1].distinct, 2);
  EXPECT_EQ(found.columns[2].kind, ColumnKind::kNumber);
  EXPECT_EQ(found.columns[2].missing, 10);
  EXPECT_EQ(found.columns[3].use, ColumnUse::kLabel);
}

TEST_F(MixedTable, WithoutAHeaderTheFirstLineIsARecord) {
  const TableLook found = look(config(forty("")));
  EXPECT_FALSE(found.has_header);
  EXPECT_EQ(found.records, 40);
  EXPECT_EQ(found.columns[1].name, "column_2");
}

TEST_F(MixedTable, AHeaderAboveTextsAloneIsToldByItsCells) {
  EXPECT_TRUE(look(config("a,b\nx,p\ny,q\nx,q\n")).has_header);
  EXPECT_FALSE(look(config("x,p\nx,p\ny,q\nx,q\n")).has_header);
  DataConfig said = config("a,b\nx,p\ny,q\nx,q\n");
  said.columns.header = false;
  EXPECT_EQ(look(said).records, 4);
}

TEST_F(MixedTable, ACategoryHasAnInputForEachAndAMissingNumberIsMarked) {
  const Dataset data = load_dataset(config(forty())).value();
  EXPECT_EQ(data.info.task.input, (Shape{1 + 2 + 2, 1, 1})) << "size, colours, age and its mark";
  for (std::int64_t i = 0; i < 40; ++i) {
    const auto cells = data.values_of(i);
    const std::vector<float> inputs = inputs_of(data, i);
    const bool is_blue =
        data.table->columns[1].categories[0] == "blue" ? cells[1] == 0 : cells[1] == 1;
    EXPECT_EQ(inputs[1] + inputs[2], 1);
    EXPECT_EQ(inputs[1], data.table->columns[1].categories[0] == "blue" ? is_blue : !is_blue);
    EXPECT_EQ(inputs[4], std::isnan(cells[2]) ? 1 : 0);
    EXPECT_TRUE(std::isfinite(inputs[3]));
  }
}

TEST_F(MixedTable, PiecewiseInputsRiseFromZeroToOneBetweenQuantiles) {
  TableColumn column{.name = "x", .encoding = NumberEncoding::kPiecewise};
  fit_column(column, {.numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8}}, 4);
  EXPECT_EQ(column.knots, (std::vector<float>{0, 2, 4, 6, 8}));
  std::vector<float> out(column.inputs());
  column.encode(5, out);
  EXPECT_EQ(out, (std::vector<float>{1, 1, 0.5, 0}));
  column.encode(-1, out);
  EXPECT_EQ(out, (std::vector<float>{0, 0, 0, 0}));
  column.encode(99, out);
  EXPECT_EQ(out, (std::vector<float>{1, 1, 1, 1}));
}

TEST_F(MixedTable, FrequentNumbersLeaveTheOtherKnotsToTheRest) {
  TableColumn column{.name = "gain", .encoding = NumberEncoding::kPiecewise};
  std::vector<float> cells(90, 0.0F);
  for (int i = 1; i <= 9; ++i) cells.push_back(static_cast<float>(i));
  cells.insert(cells.end(), 5, 4.0F);  // frequent among those that are not 0
  fit_column(column, {.numbers = cells}, 5);
  EXPECT_EQ(column.knots, (std::vector<float>{0, 1, 3, 4, 6, 9}));
}

TEST_F(MixedTable, AQuantileIsARankOfDeviationOne) {
  TableColumn column{.name = "x", .encoding = NumberEncoding::kQuantile};
  fit_column(column, {.numbers = {1, 10, 100, 1000, 10000}}, 4);
  float out[1];
  column.encode(100, out);
  EXPECT_EQ(out[0], 0);
  column.encode(1e9F, out);
  EXPECT_FLOAT_EQ(out[0], std::sqrt(3.0F));
  column.encode(5.5F, out);
  EXPECT_FLOAT_EQ(out[0], std::sqrt(3.0F) * -0.75F);
}

TEST_F(MixedTable, AMissingNumberIsTheMedianOfTheTrainingRecords) {
  TableColumn column{.name = "x", .encoding = NumberEncoding::kStandard};
  fit_column(column, {.numbers = {1, 2, 30, NAN}}, 4);
  EXPECT_EQ(column.fill, 2);
  EXPECT_TRUE(column.marks_missing);
  EXPECT_EQ(column.inputs(), 2u);
}

TEST(TableColumn, FindsACategoryWhateverTheCaseOfItsLetters) {
  const TableColumn column{
      .name = "x", .kind = ColumnKind::kCategory, .categories = {"False", "True", "TRUE", "Tru"}};
  EXPECT_EQ(column.category_spelled("true"), "True");
  EXPECT_EQ(column.category_spelled("false"), "False");
  EXPECT_EQ(column.category_spelled("tr"), std::nullopt);
}

TEST_F(MixedTable, RareCategoriesShareAnInputAndNewOnesHaveNone) {
  TableColumn column{.name = "x", .kind = ColumnKind::kCategory};
  const std::vector<std::string> dictionary = {"a", "b", "c", "d"};
  fit_column(column, {.numbers = {0, 0, 0, 1, 1, 1, 2, 3, 3}, .dictionary = dictionary}, 4);
  EXPECT_EQ(column.categories, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(column.pools_rare);
  std::vector<float> out(column.inputs());
  column.encode(column.code_of("d"), out);
  EXPECT_EQ(out, (std::vector<float>{0, 0, 1}));
  column.pools_rare = false;
  out.resize(column.inputs());
  column.encode(column.code_of("new"), out);
  EXPECT_EQ(out, (std::vector<float>{0, 0}));
}

TEST(TableColumn, ACategoryOfThreeTrainingRecordsHasAnInputOfItsOwn) {
  const std::vector<std::string> texts = {"two", "three", "five", "six"};
  ColumnCells training{.numbers = {0, 0}, .dictionary = texts};
  training.numbers.insert(training.numbers.end(), 3, 1.0F);
  training.numbers.insert(training.numbers.end(), 5, 2.0F);
  training.numbers.insert(training.numbers.end(), 6, 3.0F);
  TableColumn column;
  column.kind = ColumnKind::kCategory;
  fit_column(column, training, 16);
  EXPECT_EQ(column.categories, (std::vector<std::string>{"six", "five", "three"}));
  EXPECT_TRUE(column.pools_rare);
}

TEST_F(MixedTable, ATableOfNumbersAloneIsReadAsBefore) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += std::to_string(i * i) + ",3," + std::to_string(i % 2) + "\n";
  const Dataset data = load_dataset(config(text)).value();
  ASSERT_TRUE(data.table->is_linear());
  for (std::int64_t i = 0; i < 20; ++i) {
    const float scale = 1 / data.deviation[0], shift = -data.mean[0] / data.deviation[0];
    EXPECT_EQ(inputs_of(data, i)[0], scale * data.values_of(i)[0] + shift);
  }
}

TEST_F(MixedTable, TextOfManyDifferentCellsIsLeftOutAndSaidSo) {
  std::string text = "note,x,y\n";
  for (int i = 0; i < 60; ++i)
    text += "remark " + std::to_string(i) + "," + std::to_string(i) + (i % 2 ? ",a\n" : ",b\n");
  DataConfig data = config(text);
  const TableLook found = look(data);
  EXPECT_EQ(found.columns[0].use, ColumnUse::kLeftOut);
  EXPECT_NE(found.columns[0].remark.find("text (60 different cells in 60 records)"),
            std::string::npos)
      << found.columns[0].remark;
  data.columns.types = {{"note", "category"}};
  EXPECT_EQ(look(data).columns[0].use, ColumnUse::kInput);
}

bool says(const std::vector<std::string>& remarks, std::string_view what) {
  return std::ranges::any_of(
      remarks, [&](const std::string& remark) { return remark.find(what) != remark.npos; });
}

TEST_F(MixedTable, WhatWasFoundAndLeftOutGoesWithTheData) {
  std::string text = "note,x,y\n";
  for (int i = 0; i < 60; ++i)
    text +=
        "remark " + std::to_string(i) + "," + std::to_string(i % 7) + (i % 30 ? ",a\n" : ",b\n");
  const auto remarks = inspect_dataset(config(text))->remarks;
  EXPECT_TRUE(says(remarks, "60 records of 3 columns")) << remarks.size();
  EXPECT_TRUE(says(remarks, "column 'note': text (60 different cells")) << remarks.size();
  EXPECT_TRUE(says(remarks, "samples to train on")) << "the classes are unequal";
  EXPECT_EQ(remarks.size(), 3u);
}

TEST_F(MixedTable, NumbersThatAreTakenAsClassesAreSaid) {
  std::string text = "x,y\n";
  for (int i = 0; i < 120; ++i) text += std::to_string(i) + "," + std::to_string(i % 12) + "\n";
  EXPECT_TRUE(says(inspect_dataset(config(text))->remarks,
                   "column 'y': its 12 different numbers are taken as classes"));
}

TEST_F(MixedTable, ALabelThatNeverDiffersIsOdd) {
  const TableLook found = look(config("x,y\n1,a\n2,a\n3,a\n"));
  EXPECT_EQ(found.columns[1].remark, "the same in every record: there is nothing to learn");
}

TEST_F(MixedTable, ColumnsAreChosenDroppedAndTyped) {
  DataConfig data = config(forty());
  data.columns.drop = {"age"};
  EXPECT_EQ(load_dataset(data)->info.task.input, (Shape{3, 1, 1}));
  data.columns = {.use = {"size"}};
  EXPECT_EQ(load_dataset(data)->info.task.input, (Shape{1, 1, 1}));
  data.columns = {.types = {{"size", "category"}}};
  EXPECT_EQ(load_dataset(data)->table->columns[0].kind, ColumnKind::kCategory);
  data.columns = {.drop = {"sise"}};
  EXPECT_EQ(load_dataset(data).error().message,
            path() +
                ":1:1: data.columns.drop: unknown column 'sise'; did you mean 'size'? known: size, "
                "colour, age, kind");
  data.columns = {.drop = {"kind"}};
  EXPECT_EQ(load_dataset(data).error().message,
            path() + ":1:17: data.columns.drop: 'kind' is the label");
}

TEST_F(MixedTable, DatesAreDaysAndTheirOrderIsFound) {
  std::string text = "when,y\n";
  for (int i = 1; i <= 20; ++i) text += std::to_string(i) + "/2/2024," + (i % 2 ? "a\n" : "b\n");
  const Dataset data = load_dataset(config(text)).value();
  EXPECT_EQ(data.table->columns[0].kind, ColumnKind::kDate);
  EXPECT_TRUE(data.table->columns[0].is_day_first);
  for (std::int64_t i = 0; i < 20; ++i) {
    EXPECT_GE(data.values_of(i)[0], 19754) << "1 February 2024";
    EXPECT_LT(data.values_of(i)[0], 19774);
  }
}

TEST_F(MixedTable, SemicolonsAndDecimalCommasAreReadAsTheyAre) {
  std::string text = "\"a b\";\"y\"\n";
  for (int i = 0; i < 20; ++i) text += std::to_string(i) + ",5;" + (i % 2 ? "p\n" : "q\n");
  const Dataset data = load_dataset(config(text)).value();
  EXPECT_EQ(data.table->columns[0].name, "a b");
  double sum = 0;
  for (std::int64_t i = 0; i < 20; ++i) sum += data.values_of(i)[0];
  EXPECT_EQ(sum, 190 + 10);
}

TEST_F(MixedTable, ATestFileIsReadByTheNamesOfItsColumns) {
  DataConfig data = config(forty());
  data.test_path = path("test.csv");
  std::ofstream(data.test_path) << "kind;age;size;colour\nodd;7;3;red\neven;;1;green\n";
  const Dataset loaded = load_dataset(data).value();
  EXPECT_EQ(loaded.info.test, 2);
  const auto first = loaded.values_of(40), second = loaded.values_of(41);
  EXPECT_EQ(first[0], 3);
  EXPECT_EQ(loaded.table->columns[1].categories[static_cast<std::size_t>(first[1])], "red");
  EXPECT_EQ(first[2], 7);
  EXPECT_TRUE(std::isnan(second[2]));
  EXPECT_EQ(inputs_of(loaded, 41)[1] + inputs_of(loaded, 41)[2], 0) << "a new category";
  ASSERT_FALSE(loaded.info.remarks.empty());
  EXPECT_NE(loaded.info.remarks.back().find(
                "column 'colour': 1 of 2 records have a value that the records to train on do not "
                "have (the first is 'green')"),
            std::string::npos)
      << loaded.info.remarks.back();
  std::ofstream(data.test_path) << "kind,age,size\nodd,7,3\n";
  EXPECT_TRUE(load_dataset(data).error().message.starts_with(path("test.csv") +
                                                             ":1:1: unknown column 'colour'"));
}

TEST_F(MixedTable, WhatColumnsAreMadeOfIsPartOfTheFingerprint) {
  DataConfig data = config(forty());
  const std::uint64_t plain = inspect_dataset(data)->fingerprint;
  data.columns.numbers = "quantile";
  const std::uint64_t quantile = inspect_dataset(data)->fingerprint;
  data.columns.numbers = "standard";
  data.columns.drop = {"age"};
  EXPECT_NE(inspect_dataset(data)->fingerprint, plain);
  EXPECT_NE(quantile, plain);
}

TEST_F(MixedTable, AStratifiedSplitKeepsTheShareOfEveryClass) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += std::to_string(i) + (i % 20 == 0 ? ",rare\n" : ",often\n");
  DataConfig data = config(text);
  data.split.by = "stratified";
  data.validation = 0.25;
  const Dataset loaded = load_dataset(data).value();
  for (const DataSplit split : {DataSplit::kTest, DataSplit::kValidation, DataSplit::kTraining}) {
    const Range range = range_of(loaded.info, split);
    std::int64_t rare = 0;
    for (std::int64_t i = 0; i < range.count; ++i)
      rare += loaded.labels[static_cast<std::size_t>(range.first + i)] == 1 ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(rare), static_cast<double>(range.count) / 20, 1);
  }
}

TEST_F(MixedTable, AGroupIsInOnePart) {
  std::string text = "patient,x,y\n";
  for (int i = 0; i < 200; ++i)
    text += "p" + std::to_string(i % 23) + "," + std::to_string(i) + (i % 2 ? ",a\n" : ",b\n");
  DataConfig data = config(text);
  data.split.by = "group";
  data.split.column = "patient";
  const Dataset loaded = load_dataset(data).value();
  EXPECT_EQ(loaded.table->columns.size(), 1u) << "the group is no input";
  std::vector<std::set<int>> parts(23);
  for (const DataSplit split : {DataSplit::kTest, DataSplit::kValidation, DataSplit::kTraining}) {
    const Range range = range_of(loaded.info, split);
    EXPECT_GT(range.count, 0);
    for (std::int64_t i = 0; i < range.count; ++i) {
      const auto record = static_cast<std::size_t>(loaded.values_of(range.first + i)[0]);
      parts[record % 23].insert(static_cast<int>(split));
    }
  }
  for (const auto& one : parts) EXPECT_EQ(one.size(), 1u);
}

TEST_F(MixedTable, ASplitByTimeHoldsTheNewestOut) {
  std::string text = "when,x,y\n";
  for (int i = 0; i < 100; ++i)
    text += std::to_string((i * 37) % 100) + "," + std::to_string((i * 37) % 100) +
            (i % 2 ? ",a\n" : ",b\n");
  DataConfig data = config(text);
  data.split.by = "time";
  data.split.column = "when";
  const Dataset loaded = load_dataset(data).value();
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(loaded.values_of(i)[0], i);
}

TEST_F(MixedTable, TheFoldsOfACrossValidationAreDisjointAndCoverAll) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += std::to_string(i) + (i % 2 ? ",a\n" : ",b\n");
  DataConfig data = config(text);
  data.split.by = "stratified";
  data.split.folds = 4;
  std::multiset<float> validated;
  for (data.split.fold = 0; data.split.fold < 4; ++data.split.fold) {
    const Dataset loaded = load_dataset(data).value();
    EXPECT_EQ(loaded.info.validation, 10);
    for (std::int64_t i = 0; i < 10; ++i)
      validated.insert(loaded.values_of(loaded.info.training + i)[0]);
  }
  EXPECT_EQ(validated.size(), 40u);
  EXPECT_EQ(std::set<float>(validated.begin(), validated.end()).size(), 40u);
}

TEST_F(MixedTable, TheSeedOfASplitChangesIt) {
  DataConfig data = config(forty());
  const Dataset plain = load_dataset(data).value();
  data.split.seed = 1;
  const Dataset other = load_dataset(data).value();
  EXPECT_NE(plain.labels, other.labels);
  EXPECT_NE(plain.info.fingerprint, other.info.fingerprint);
}

}  // namespace
}  // namespace detol
