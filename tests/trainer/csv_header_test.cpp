// Which first lines are headers, which columns are the numbers of records, and which labels are
// missing.

#include <cmath>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/trainer/csv_folder.h"
#include "trainer/data/dataset.h"
#include "trainer/data/formats/csv_look.h"
#include "trainer/data/formats/formats.h"
#include "trainer/data/table_encoder.h"

namespace detol {
namespace {

class CsvHeader : public CsvFolder {
 protected:
  TableLook look(const std::string& text) const {
    const DataConfig data = config(text);
    return look_at_table(data, data.path).value();
  }

  // Returns the header, and thirty records of `cells` of their number, from 0.
  template <typename Cells>
  static std::string thirty(const std::string& header, Cells cells) {
    std::string text = header + "\n";
    for (int i = 0; i < 30; ++i) text += cells(i) + "\n";
    return text;
  }
  static std::string fraction(int i) { return std::to_string(i * 7 % 30) + ".5"; }
  static std::string class_of(int i) { return i % 2 == 0 ? "yes" : "no"; }
  static std::string text_of(const TableLook& look) {
    std::string all;
    for (const std::string& remark : remarks_on(look)) all += remark + "\n";
    return all;
  }
};

TEST_F(CsvHeader, CountsTheColumnsWhereNoRecordDoes) {
  const auto floats = [](int i) {
    return fraction(i) + "," + fraction(i + 1) + "," + fraction(i + 2);
  };
  for (const char* header : {"0,1,2", "1,2,3"}) {
    const TableLook found = look(thirty(header, floats));
    EXPECT_TRUE(found.has_header) << header;
    EXPECT_EQ(found.records, 30);
    EXPECT_NE(text_of(found).find("counts the columns and is taken for their names"),
              std::string::npos);
  }
  EXPECT_TRUE(
      look(thirty("0,1", [](int i) { return fraction(i) + "," + class_of(i); })).has_header);
  EXPECT_TRUE(look(thirty(",0,1", [](int i) {
                return "r" + std::to_string(i % 7) + "," + fraction(i) + "," + class_of(i);
              })).has_header);
}

TEST_F(CsvHeader, OfAWideTableIsRemarkedOnInAFewLines) {
  std::string header;
  std::string cells;
  for (int i = 0; i < 200; ++i) {
    header += "c" + std::to_string(i) + ",";
    cells += i % 2 == 0 ? "1," : ",";
  }
  const auto line = [&](int i) { return cells + fraction(i) + "," + class_of(i); };
  const auto remarks = remarks_on(look(thirty(header + "x,y", line)));
  ASSERT_EQ(remarks.size(), 1 + kMostRemarks + 1);
  EXPECT_EQ(
      remarks.back(),
      "200 columns have such a remark, 100 are left out: `detol data inspect` lists them all");
}

TEST_F(CsvHeader, ThatMayBeARecordIsRemarkedOn) {
  const auto sums = [](int i) {
    return std::to_string(i % 3) + "," + std::to_string(i % 2) + "," + std::to_string(i % 5);
  };
  const TableLook record = look(thirty("0,1,2", sums));
  EXPECT_FALSE(record.has_header) << "each of its cells stands below";
  EXPECT_NE(text_of(record).find("if it names the columns, say data.header: true"),
            std::string::npos);
  const auto floats = [](int i) { return fraction(i) + "," + fraction(i) + "," + fraction(i); };
  const TableLook years = look(thirty("2019,2020,2021", floats));
  EXPECT_FALSE(years.has_header);
  EXPECT_NE(text_of(years).find("data.header: true"), std::string::npos);
  const auto counted = [](int i) {
    return std::to_string(i + 1) + "," + fraction(i) + "," + fraction(i);
  };
  EXPECT_FALSE(look(thirty("0,1,2", counted)).has_header)
      << "it counts the records with the others";
  EXPECT_EQ(text_of(look(thirty("7,1.5,no",
                                [](int i) {
                                  return std::to_string(i % 9) + "," + fraction(i) + "," +
                                         class_of(i);
                                })))
                .find("data.header"),
            std::string::npos);
}

TEST_F(CsvHeader, IsToldByAnEmptyCellAboveTheNumbersOfRecords) {
  const TableLook found = look(thirty(",review,mood", [](int i) {
    return std::to_string(i) + ",text " + std::to_string(i % 7) + "," + class_of(i);
  }));
  EXPECT_TRUE(found.has_header);
  EXPECT_TRUE(look(thirty("land,2019,2020,2021", [](int i) {
                return "l" + std::to_string(i) + "," + fraction(i) + "," + fraction(i) + "," +
                       fraction(i);
              })).has_header);
  EXPECT_FALSE(
      look(thirty(",1.5,no",
                  [](int i) { return fraction(i) + "," + fraction(i) + "," + class_of(i); }))
          .has_header)
      << "a record that misses a cell";
}

class RecordNumbersOf : public CsvHeader {
 protected:
  // Returns what is found of a first column of these numbers under the name.
  template <typename Number>
  ColumnLook column(const std::string& name, Number number) const {
    return look(thirty(name + ",b,y",
                       [&](int i) {
                         return std::to_string(number(i)) + "," + fraction(i) + "," + class_of(i);
                       }))
        .columns[0];
  }
};

TEST_F(RecordNumbersOf, ANamelessColumnAreAnIndexAndLeftOut) {
  const auto shuffled = [](int i) { return i * 7 % 30; };
  const auto gaps = [](int i) { return i * i * 100; };
  for (const ColumnLook& found :
       {column("", [](int i) { return i; }), column("", [](int i) { return i + 1; }),
        column("", shuffled), column("", gaps)}) {
    EXPECT_EQ(found.name, "column_1");
    EXPECT_EQ(found.use, ColumnUse::kLeftOut);
    EXPECT_NE(found.remark.find("left out; data.columns.types: {column_1: number} uses it"),
              std::string::npos);
  }
  EXPECT_EQ(column("", [](int i) { return i / 2; }).use, ColumnUse::kInput) << "they repeat";
}

TEST_F(RecordNumbersOf, ANamelessColumnAreUsedIfThatIsSaid) {
  DataConfig data = config(thirty(
      ",b,y", [](int i) { return std::to_string(i) + "," + fraction(i) + "," + class_of(i); }));
  EXPECT_EQ(load_dataset(data)->info.task.input.channels, 1);
  const std::uint64_t without = load_dataset(data)->info.fingerprint;
  data.columns.types = {{"column_1", "number"}};
  EXPECT_EQ(load_dataset(data)->info.task.input.channels, 2);
  EXPECT_NE(load_dataset(data)->info.fingerprint, without);
  data.columns = {.use = {"column_1"}};
  EXPECT_EQ(load_dataset(data)->info.task.input.channels, 1);
  EXPECT_EQ(load_dataset(data)->info.look->columns[0].use, ColumnUse::kInput);
}

TEST_F(RecordNumbersOf, AColumnAreFoundByWhatTheyAre) {
  const auto gaps = [](int i) { return i * i * 100; };
  EXPECT_NE(column("x", [](int i) { return i + 5; }).remark.find("counts the records"),
            std::string::npos);
  EXPECT_NE(column("x", [](int i) { return i * 7 % 30; }).remark.find("differs in every record"),
            std::string::npos)
      << "shuffled";
  EXPECT_NE(column("x", [](int i) { return i * 9; }).remark.find("differs in every record"),
            std::string::npos)
      << "ascending, with gaps";
  for (const char* name :
       {"id", "PassengerId", "customer_id", "EmployeeNumber", "Unnamed: 0", "No"})
    EXPECT_NE(column(name, gaps).remark.find("differs in every record"), std::string::npos) << name;
  for (const char* name : {"x", "humid", "notes"}) EXPECT_EQ(column(name, gaps).remark, "") << name;
  EXPECT_EQ(column("id", [](int i) { return i / 2; }).remark, "") << "not in every record";
}

TEST_F(RecordNumbersOf, AFileWithoutAHeaderBeginWithItsFirstLine) {
  std::string text;
  for (int i = 0; i < 30; ++i)
    text += std::to_string(i) + "," + fraction(i) + "," + class_of(i) + "\n";
  const TableLook found = look(text);
  EXPECT_FALSE(found.has_header);
  EXPECT_EQ(found.columns[0].use, ColumnUse::kInput);
  EXPECT_NE(found.columns[0].remark.find("counts the records"), std::string::npos);
}

TEST_F(CsvHeader, WithANameTwiceIsSaid) {
  const TableLook found = look("age,age,y\n1.5,2,a\n3,4,b\n");
  EXPECT_EQ(found.columns[1].name, "age.1");
  EXPECT_NE(text_of(found).find("another column is called 'age'; column 2 is called 'age.1'"),
            std::string::npos);
}

TEST_F(CsvHeader, ANameIsWrittenForYamlInRemarks) {
  std::string text = "\"a: \"\"b\"\"\n#\",x,y\n";
  for (int i = 0; i < 60; ++i)
    text += "text " + std::to_string(i) + "," + fraction(i) + "," + class_of(i) + "\n";
  EXPECT_NE(look(text).columns[0].remark.find(R"({"a: \"b\"\n#": category})"), std::string::npos)
      << look(text).columns[0].remark;
  EXPECT_EQ(as_yaml("price_2"), "price_2");
  EXPECT_EQ(as_yaml("2"), "\"2\"");
}

TEST_F(CsvHeader, NumbersAsTextAreNotAdvisedToBeCategories) {
  const auto table = [](const std::string& header, int plain) {
    std::string text = header + "\n";
    for (int i = 0; i < 60; ++i)
      text += (i < plain ? std::to_string(i) : "\"1," + std::to_string(100 + i) + "\"") + "," +
              class_of(i) + "," + std::to_string(i % 7) + ".5\n";
    return text;
  };
  const std::string remark = look(table("price,y,b", 0)).columns[0].remark;
  EXPECT_NE(remark.find("numbers as text, such as '1,100', left out; write it without"),
            std::string::npos)
      << remark;
  const DataConfig some = config(table("price,y,b", 40));
  EXPECT_TRUE(look_at_table(some, some.path)
                  .error()
                  .message.starts_with(path() + ":42:1: '1,140' in column 'price' is a number as "
                                                "text; write it"));
}

class MissingLabel : public CsvFolder {
 protected:
  // Returns twelve records, of which the first has this label.
  DataConfig data(const std::string& label, const std::string& other = "yes") const {
    std::string text = "a,y\n1.5," + label + "\n";
    for (int i = 0; i < 11; ++i)
      text += std::to_string(i * 5 % 11) + ".25," + (i % 2 == 0 ? other : "3") + "\n";
    return config(text);
  }
};

TEST_F(MissingLabel, IsAnErrorWithItsPlaceForEveryWord) {
  for (const std::string_view word : missing_words()) {
    DataConfig classes = data(std::string(word)), numbers = data(std::string(word), "7");
    numbers.task = TaskKind::kRegression;
    for (const DataConfig& one : {classes, numbers}) {
      const auto loaded = load_dataset(one);
      ASSERT_FALSE(loaded) << word;
      EXPECT_TRUE(loaded.error().message.starts_with(path() + ":2:5: the label is missing"))
          << loaded.error().message;
    }
  }
}

TEST_F(MissingLabel, MayDropItsRecordAndIsCounted) {
  DataConfig one = data("NA");
  one.missing_label = "drop";
  const Dataset loaded = load_dataset(one).value();
  EXPECT_EQ(loaded.labels.size(), 11u);
  EXPECT_EQ(loaded.class_names, (std::vector<std::string>{"3", "yes"}));
  EXPECT_EQ(loaded.info.look->columns[1].remark, "missing in 1 of 12 records, left out");
  one.test_path = path("test.csv");
  std::ofstream(one.test_path) << "a,y\n1,yes\n2,?\n";
  const Dataset tested = load_dataset(one).value();
  EXPECT_EQ(tested.info.test, 1);
  EXPECT_EQ(tested.info.look->remarks.back(),
            path("test.csv") + ": 1 records without a label, left out");
  one = config("a,y\n1,\n2,?\n");
  one.missing_label = "drop";
  EXPECT_EQ(load_dataset(one).error().message,
            path() + ": column 'y', the label, is empty in every record; data.label names another");
}

TEST_F(MissingLabel, MayBeAClass) {
  const auto classes_of = [&](const std::string& word, const std::string& other) {
    std::string text = "a,y\n";
    for (int i = 0; i < 30; ++i)
      text += std::to_string(i) + ".5," + (i % 3 == 0 ? "10" : i % 3 == 1 ? word : other) + "\n";
    DataConfig one = config(text);
    one.missing_label = "class";
    const auto loaded = load_dataset(one);
    return loaded ? loaded->class_names : std::vector<std::string>{loaded.error().message};
  };
  EXPECT_EQ(classes_of("None", "yes"), (std::vector<std::string>{"10", "None", "yes"}));
  EXPECT_EQ(classes_of("nan", "7"), (std::vector<std::string>{"10", "7", "nan"}))
      << "nan has no place among numbers";
  EXPECT_NE(classes_of("", "yes").front().find("the label is missing"), std::string::npos);
}

TEST_F(MissingLabel, IsSaidBeforeATraining) {
  DataConfig one = data("NA");
  EXPECT_EQ(look_at_table(one, one.path)->columns[1].remark,
            "missing in 1 of 12 records, an error unless data.missing_label: drop leaves them out");
}

TEST_F(MissingLabel, OfAGroupIsAnError) {
  DataConfig one = config("g,a,y\nx,1,yes\nNA,2,no\nx,3,yes\ny,4,no\n");
  one.split.by = "group";
  one.split.column = "g";
  EXPECT_TRUE(load_dataset(one).error().message.starts_with(path() + ":3:1: the group is missing"));
}

TEST_F(CsvHeader, ANumberThatIsInfiniteIsFoundByALook) {
  const DataConfig data = config("a,b,y\n1.5,2,p\ninf,3,q\n2,1,p\n");
  EXPECT_EQ(look_at_table(data, data.path).error().message,
            path() +
                ":3:1: 'inf' is not a finite number, as column 'a' has; correct it, or leave it "
                "empty");
  DataConfig dropped = data;
  dropped.columns.drop = {"a"};
  EXPECT_TRUE(look_at_table(dropped, dropped.path));
}

}  // namespace
}  // namespace detol
