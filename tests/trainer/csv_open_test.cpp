// How a CSV file is opened: its encoding, its dialect, and what its columns are called.

#include "trainer/data/formats/csv_open.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace detol {
namespace {

using Texts = std::vector<std::string>;

OpenCsv open(const std::string& bytes, const ColumnsConfig& said = {}) {
  return open_csv(said, CsvReader::of("t.csv", bytes).value()).value();
}

// Returns each record as "cell|cell".
Texts records_of(OpenCsv file) {
  Texts records;
  while (file.reader.next().value()) {
    std::string record;
    for (const std::string& text : texts_of(file.reader.cells()))
      record += (record.empty() ? "" : "|") + text;
    records.push_back(record);
  }
  return records;
}

// Returns the text in UTF-16, without a mark.
std::string utf16(std::u16string_view text, bool is_big = false) {
  std::string bytes;
  for (const char16_t unit : text) {
    const char low = static_cast<char>(unit & 0xff), high = static_cast<char>(unit >> 8);
    bytes += is_big ? high : low;
    bytes += is_big ? low : high;
  }
  return bytes;
}

TEST(CsvText, Utf16IsReadWithItsMarkAndWithout) {
  const std::u16string_view table = u"size,kind\n1,gr\u00fcn\n2,\U0001f600\n";
  const Texts expected = {"size|kind", "1|gr\xc3\xbcn", "2|\xf0\x9f\x98\x80"};
  for (const std::string& bytes : {"\xff\xfe" + utf16(table), "\xfe\xff" + utf16(table, true),
                                   utf16(table), utf16(table, true)}) {
    const OpenCsv file = open(bytes);
    EXPECT_EQ(records_of(file), expected);
    EXPECT_EQ(file.remarks, Texts{"the file is in UTF-16"});
  }
}

TEST(CsvText, WhatIsNoTextIsRefusedByItsName) {
  const auto refusal = [](const std::string& bytes) {
    const auto reader = CsvReader::of("t.csv", bytes);
    return reader ? "none" : reader.error().message;
  };
  EXPECT_EQ(
      refusal("PK\x03\x04 and so on"),
      "t.csv: an Excel workbook or another ZIP file, not a CSV file; save the table as CSV, in "
      "UTF-8");
  EXPECT_EQ(refusal("\xff\xfe" + utf16(u"a,b\n") + "c"),
            "t.csv: byte 10: damaged UTF-16; save the file as UTF-8");
  EXPECT_NE(refusal(std::string("\xff\xfe\x3d\xd8\n\0", 6)).find("byte 2: damaged"),
            std::string::npos)
      << "half a character";
  EXPECT_NE(refusal("{\"a\": 1}\n{\"a\": 2}\n").find("JSON, not a CSV file"), std::string::npos);
  EXPECT_NE(refusal("<!DOCTYPE html>\n").find("a web page"), std::string::npos);
  EXPECT_NE(refusal(std::string("\xff\xfe\0\0a\0\0\0", 8)).find("UTF-32"), std::string::npos);
}

TEST(CsvOpen, ALineOfExcelNamesTheSeparator) {
  for (const char* line : {"sep=;\n", "SEP=;\r\n", "\"sep=;\"\n", "\xef\xbb\xbfsep=;\n"})
    EXPECT_EQ(records_of(open(std::string(line) + "a;b,c\n1;2,3\n")), (Texts{"a|b,c", "1|2,3"}))
        << line;
  EXPECT_EQ(records_of(open("sep=^\na^b\n1^2\n")), (Texts{"a|b", "1|2"}));
  EXPECT_EQ(records_of(open("sep=;\na,b\n1,2\n", {.separator = ","})), (Texts{"a|b", "1|2"}))
      << "what is said wins";
}

TEST(CsvOpen, CommentsAtTheHeadArePassedOverAndSaidSo) {
  const OpenCsv file = open("# lab 3\n# units: V, A\na,b,y\n1,2,yes\n");
  EXPECT_EQ(records_of(file), (Texts{"a|b|y", "1|2|yes"}));
  EXPECT_EQ(file.remarks, Texts{"2 lines at the head that begin with # are passed over"});
  EXPECT_EQ(records_of(open("# by x, y, and z\na,b,y\n1,2,yes\n")), (Texts{"a|b|y", "1|2|yes"}))
      << "as many cells as the table";
}

TEST(CsvOpen, AHeaderOrARecordThatBeginsWithAHashIsKept) {
  for (const char* text : {"#,name,kind\n1,a,x\n2,b,y\n", "#id,a,b\n1,2,3\n",
                           "#ff0000,1,a\n#00ff00,2,b\n", "# a,b\n1,2\n3,4\n"}) {
    const OpenCsv file = open(text);
    EXPECT_TRUE(first_line_of(file).front().starts_with('#')) << text;
    EXPECT_TRUE(file.remarks.empty());
  }
  EXPECT_EQ(first_line_of(open("# made by us\n#,name\n1,a\n2,b\n")).front(), "#");
}

TEST(CsvOpen, ACommentFartherDownIsAnErrorThatSaysSo) {
  OpenCsv file = open("a,b\n1,2\n# a note\n3,4\n");
  ASSERT_TRUE(file.reader.next() && file.reader.next());
  EXPECT_EQ(file.reader.next().error().message,
            "t.csv:3:1: 1 cells, but the lines before have 2; lines that begin with # are comments "
            "at the head of the file alone: remove this one");
}

TEST(CsvOpen, AFileIsReadAsItsModelIsIfThatFits) {
  const auto open_like = [](const CsvDialect& model, const std::string& text) {
    const auto has_both = [](std::span<const std::string> first) {
      const ColumnNames names(first);
      return names.find("a") && names.find("b");
    };
    return open_csv_like({}, model, CsvReader::of("t.csv", text).value(), has_both).value();
  };
  const OpenCsv caret = open_like({'^', '.'}, "a^b\n1,5;2^3\n");
  EXPECT_EQ(records_of(caret), (Texts{"a|b", "1,5;2|3"}));
  EXPECT_TRUE(caret.remarks.empty());
  const OpenCsv other = open_like({';', ','}, "b,a\n1.5,2\n");
  EXPECT_EQ(records_of(other), (Texts{"b|a", "1.5|2"}));
  EXPECT_EQ(other.dialect.decimal, '.');
  EXPECT_EQ(other.remarks, Texts{"the cells are between commas, not semicolons"});
  EXPECT_EQ(open_like({',', ','}, "a,b\n\"1,5\",2\n").dialect.decimal, ',') << "of the model";
  EXPECT_EQ(open_like({';', '.'}, "a;b\n1,5;2\n").dialect.decimal, ',') << "not to be mistaken";
  EXPECT_EQ(first_line_of(open_like({';', '.'}, "a,c,d\n1,2,3\n")).size(), 3u)
      << "neither fits: what reads more";
}

TEST(ColumnNames, AreThoseThatPandasGives) {
  EXPECT_EQ(ColumnNames(Texts{"", "age", " b ", "age", "", "age"}).all(),
            (Texts{"column_1", "age", "b", "age.1", "column_5", "age.2"}));
  EXPECT_EQ(ColumnNames(Texts{"a", "a", "a.1"}).all(), (Texts{"a", "a.1", "a.1.1"}));
  const ColumnNames names(Texts{" b ", "c"});
  EXPECT_EQ(names.find("b"), 0u);
  EXPECT_EQ(names.find(" b "), 0u) << "as it is written";
  EXPECT_EQ(names.find("d"), std::nullopt);
}

TEST(ColumnNames, OfManyCopiesAreGivenSoon) {
  const ColumnNames names(Texts(16'384, "x"));
  EXPECT_EQ(names.all().back(), "x.16383");
}

TEST(ColumnNames, OfPlacesSayThem) {
  EXPECT_EQ(name_of_place(6), "column_7");
  EXPECT_EQ(place_in("column_7"), 6u);
  for (const char* name : {"column_", "column_0", "column_1x", "columns_1"})
    EXPECT_EQ(place_in(name), std::nullopt) << name;
}

}  // namespace
}  // namespace detol
