#include "trainer/data/formats/csv.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace detol {
namespace {

// Returns each record as "cell|cell"; an error's message is the last.
std::vector<std::string> records_of(const std::string& text) {
  CsvReader reader("t.csv", text);
  std::vector<std::string> records;
  for (;;) {
    const Result<bool> more = reader.next();
    if (!more) records.push_back(more.error().message);
    if (!more || !*more) return records;
    std::string record;
    for (const CsvCell& cell : reader.cells())
      record += (&cell == reader.cells().data() ? "" : "|") + std::string(cell.text);
    records.push_back(record);
  }
}

struct Case {
  std::string text;
  std::vector<std::string> records;
};

TEST(Csv, IsReadAsItIsWritten) {
  const Case table[] = {
      {"", {}},
      {"\n\r\n  \n", {}},
      {"a,b\n1,2\n", {"a|b", "1|2"}},
      {"a,b\r\n1,2", {"a|b", "1|2"}},
      {"\xef\xbb\xbf"
       "a\n",
       {"a"}},
      {" a , b c\t\n\n1,  \n", {"a|b c", "1|"}},
      {",\n,\n", {"|", "|"}},
      {"\"a, b\",\"c\"\"d\"\"\"\n", {"a, b|c\"d\""}},
      {"\"one\ntwo\",x\ny,z\n", {"one\ntwo|x", "y|z"}},
      {"\"\" , \"  \"\n", {"|  "}},
      {"a,b\n1\n", {"a|b", "t.csv:2:1: 1 cells, but the lines before have 2"}},
      {"a\n\n1,2\n",
       {"a",
        "t.csv:3:1: 2 cells, but the lines before have 1; is the first line a title, or are "
        "cells separated otherwise?"}},
      {"a,b\n1,2 \"x\"\n",
       {"a|b", "t.csv:2:5: a quote inside a cell; quote the whole cell, each quote in it twice"}},
      {"a,\"b\nc", {"t.csv:1:3: a quote that nothing closes"}},
      {"a,\"b\" c\n", {"t.csv:1:7: text behind a quoted cell"}},
      {"\"a\nb\",\"c\" d\n", {"t.csv:2:8: text behind a quoted cell"}},
  };
  for (const Case& row : table) EXPECT_EQ(records_of(row.text), row.records) << row.text;
}

TEST(Csv, ACellKnowsItsPlace) {
  CsvReader reader("t.csv", "a,b\n\n  1, \"2\"\n");
  ASSERT_TRUE(reader.next().value());
  ASSERT_TRUE(reader.next().value());
  EXPECT_EQ(reader.cells()[1].line, 3);
  EXPECT_EQ(reader.cells()[1].column, 6);
  EXPECT_EQ(reader.error_at(reader.cells()[0], "it is odd").value().message,
            "t.csv:3:3: it is odd");
}

TEST(Csv, ALineOfAMillionSeparatorsIsRefused) {
  auto reader = CsvReader::of("t.csv", std::string((1 << 20) + 1, ',') + "\n").value();
  const auto record = reader.next();
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().message, "t.csv:1:1: a line of more than 1048576 cells; is it a table?");
}

TEST(Csv, NumbersAreWholeCells) {
  EXPECT_EQ(number_in("1.5"), 1.5);
  EXPECT_EQ(number_in("-2e3"), -2000);
  EXPECT_EQ(number_in("+7"), 7);
  EXPECT_EQ(number_in("inf"), std::numeric_limits<double>::infinity());
  for (const char* text : {"", " ", "1 ", "1,5", "0x10", "+-1", "1e", "one"})
    EXPECT_EQ(number_in(text), std::nullopt) << text;
}

}  // namespace
}  // namespace detol
