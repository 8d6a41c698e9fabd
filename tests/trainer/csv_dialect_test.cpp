// How CSV files are written: separators, decimal commas, missing cells, dates.

#include "trainer/data/formats/csv_dialect.h"

#include <gtest/gtest.h>

namespace detol {
namespace {

TEST(CsvDialect, TheSeparatorIsTheOneThatLinesAgreeOn) {
  const struct {
    const char* text;
    char separator;
  } table[] = {{"a,b\n1,2\n3,4\n", ','},
               {"a;b\n1,5;2\n3;4,5\n", ';'},
               {"a\tb, c\n1\t2\n3\t4, 5\n", '\t'},
               {"a|b\n1|2\n", '|'},
               {"\"x;y\",b\n\"p;q\",2\n", ','},
               {"\"fixed acidity\";\"pH\"\n7.4;3.51\n", ';'},
               {"a, b; c\n1, 2\n3, 4; 5; 6\n", ','},
               {"one\ntwo\n", ','}};
  for (const auto& row : table)
    EXPECT_EQ(dialect_of(row.text, std::nullopt).separator, row.separator) << row.text;
}

TEST(CsvDialect, ADecimalCommaIsFoundWhereCommasDoNotSeparate) {
  EXPECT_EQ(dialect_of("a;b\n1,5;2\n", std::nullopt).decimal, ',');
  EXPECT_EQ(dialect_of("a;b\n-0,25;x\n", std::nullopt).decimal, ',');
  EXPECT_EQ(dialect_of("a;b\n1.5;2\n", std::nullopt).decimal, '.');
  EXPECT_EQ(dialect_of("a;b\n1.5;2,5\n", std::nullopt).decimal, '.') << "both: not a decimal comma";
  EXPECT_EQ(dialect_of("a;b\nx,1 and 2,y;2\n", std::nullopt).decimal, '.') << "a text";
  EXPECT_EQ(dialect_of("1,5\n2,5\n", std::nullopt).decimal, '.') << "commas separate";
}

TEST(CsvDialect, NumbersHaveTheDecimalOfTheFile) {
  EXPECT_EQ(number_in("1,5", ','), 1.5);
  EXPECT_EQ(number_in("-2", ','), -2);
  EXPECT_EQ(number_in("1.500,5", ','), std::nullopt);
  EXPECT_EQ(number_in("1,5"), std::nullopt);
}

TEST(CsvDialect, MissingCellsAreTheWordsOfPandasAndTheArchives) {
  for (const char* word : {"", "?", "NA", "N/A", "nan", "NaN", "null", "None"})
    EXPECT_TRUE(is_missing(word)) << word;
  for (const char* word : {"0", "none at all", "-", "unknown"}) EXPECT_FALSE(is_missing(word));
}

TEST(CsvDialect, NumbersAsPeopleWriteThemAreTold) {
  for (const char* text : {"1,234", "-1,234,567.5", "56.7%", "$102,996", "\xe2\x82\xac 9", "1 234"})
    EXPECT_TRUE(is_formatted_number(text, '.')) << text;
  EXPECT_TRUE(is_formatted_number("112.103,88", ','));
  for (const char* text : {"", "%", "1,23", "1,2345", "1,234 CC", "2024-03-01", "555-1234", "a,123",
                           "nan %", "01.03.2024"})
    EXPECT_FALSE(is_formatted_number(text, '.')) << text;
}

TEST(CsvDialect, DatesAreDaysSince1970) {
  const auto month_first = DateOrder::kMonthFirst;
  EXPECT_EQ(days_in("1970-01-01", month_first), 0);
  EXPECT_EQ(days_in("2024/03/01", month_first), 19783);
  EXPECT_EQ(days_in("01.03.2024", month_first), 19783);
  EXPECT_EQ(days_in("3/1/2024", month_first), 19783);
  EXPECT_EQ(days_in("1/3/2024", DateOrder::kDayFirst), 19783);
  EXPECT_DOUBLE_EQ(*days_in("2024-03-01T12:00:00.25Z", month_first), 19783.5 + 0.25 / 86400);
  EXPECT_EQ(days_in("2024-03-01 06:00", month_first), 19783.25);
  for (const char* text : {"2024-02-30", "13/13/2024", "1/3/24", "2024-03", "12:30", "x", "",
                           "2024-03-01 late", "2024-03/01", "1.5", "1.2.3"})
    EXPECT_EQ(days_in(text, month_first), std::nullopt) << text;
}

}  // namespace
}  // namespace detol
