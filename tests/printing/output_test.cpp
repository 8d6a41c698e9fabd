#include "printing/output.h"

#include <filesystem>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

const double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

PrintStyle as(Format format, bool color = false) {
  PrintStyle style;
  style.format = format;
  style.color = color;
  return style;
}

Rows two_trials() {
  return {.columns = {"trial", "state", "value", "params"},
          .rows = {{std::int64_t{0}, "COMPLETE", 0.5, R"({"lr":0.1,"se":true})"},
                   {std::int64_t{12}, "FAIL", kNaN, R"({"lr":0.0123456789})"}}};
}

TEST(Output, JsonNestsParametersAndNamesNaN) {
  EXPECT_EQ(render(two_trials(), as(Format::kJson)),
            "[\n"
            "  {\n"
            "    \"trial\": 0,\n"
            "    \"state\": \"COMPLETE\",\n"
            "    \"value\": 0.5,\n"
            "    \"params\": {\n"
            "      \"lr\": 0.1,\n"
            "      \"se\": true\n"
            "    }\n"
            "  },\n"
            "  {\n"
            "    \"trial\": 12,\n"
            "    \"state\": \"FAIL\",\n"
            "    \"value\": \"NaN\",\n"
            "    \"params\": {\n"
            "      \"lr\": 0.0123456789\n"
            "    }\n"
            "  }\n"
            "]\n");
}

TEST(Output, JsonLinesAreOneObjectALine) {
  EXPECT_EQ(render(two_trials(), as(Format::kJsonl)),
            R"({"trial":0,"state":"COMPLETE","value":0.5,"params":{"lr":0.1,"se":true}})"
            "\n"
            R"({"trial":12,"state":"FAIL","value":"NaN","params":{"lr":0.0123456789}})"
            "\n");
}

TEST(Output, CsvSpreadsParametersOverColumns) {
  EXPECT_EQ(render(two_trials(), as(Format::kCsv)),
            "trial,state,value,params.lr,params.se\n"
            "0,COMPLETE,0.5,0.1,true\n"
            "12,FAIL,NaN,0.0123456789,\n");
}

TEST(Output, AnArchitectureStaysOneWordAndMissingValuesMakeNoColumn) {
  const Rows rows{.columns = {"trial", "values", "architecture"},
                  .rows = {{std::int64_t{0}, Cell(), R"({"type":"chain"})"},
                           {std::int64_t{1}, R"({"loss":0.5})", R"({"type":"cell"})"}}};
  EXPECT_EQ(render(rows, as(Format::kCsv)),
            "trial,architecture,values.loss\n"
            "0,\"{\"\"type\"\":\"\"chain\"\"}\",\n"
            "1,\"{\"\"type\"\":\"\"cell\"\"}\",0.5\n");
}

TEST(Output, CsvQuotesCommasQuotesAndLineEnds) {
  const Rows rows{.columns = {"a"}, .rows = {{"x,y"}, {"say \"no\""}, {"two\nlines"}}};
  EXPECT_EQ(render(rows, as(Format::kCsv)), "a\n\"x,y\"\n\"say \"\"no\"\"\"\n\"two\nlines\"\n");
}

TEST(Output, ATableAlignsNumbersToTheRight) {
  EXPECT_EQ(render(two_trials(), as(Format::kTable)),
            "trial  state     value  params.lr  params.se\n"
            "    0  COMPLETE    0.5        0.1  true\n"
            "   12  FAIL        NaN  0.0123457  -\n");
}

TEST(Output, ATableShowsNoControlCharactersOfAStranger) {
  const Rows rows{.columns = {"a\033[1m"}, .rows = {{"x\033[2Jy\nz \xc2\x9b"}}};
  EXPECT_EQ(render(rows, as(Format::kTable)), "a\\x1b[1m\nx\\x1b[2Jy\\nz \\xc2\\x9b\n");
  EXPECT_EQ(render_record(rows, as(Format::kTable)), "a\\x1b[1m  x\\x1b[2Jy\\nz \\xc2\\x9b\n");
}

// A table without JSON is written in another way: its lines are the beginnings of the others.
TEST(Output, ATableIsTheSameBesideAColumnOfJson) {
  Rows rows{.columns = {"name\n", "whole", "real", "none", "word", "far"},
            .rows = {{"a\x1b[31mb", std::int64_t{-7}, 1.0 / 3, std::monostate(), "NaN", kInfinity},
                     {"\xc3\xa4\xff", std::int64_t{1234567}, kNaN, std::monostate(), "x", 1e-300},
                     {"", std::int64_t{0}, -2e20, std::monostate(), "", -kInfinity}}};
  const std::string plain = render(rows, as(Format::kTable)).value();
  rows.columns.emplace_back("architecture");
  for (auto& row : rows.rows) row.emplace_back("{}");
  std::istringstream lines(plain), others(render(rows, as(Format::kTable)).value());
  std::string line, other;
  while (std::getline(others, other)) {
    ASSERT_TRUE(std::getline(lines, line)) << other;
    EXPECT_TRUE(other.starts_with(line)) << line << "\n" << other;
  }
  EXPECT_FALSE(std::getline(lines, line)) << line;
}

TEST(Output, OnlyTheHeadIsColoured) {
  const Rows rows{.columns = {"a"}, .rows = {{"x"}}};
  EXPECT_EQ(render(rows, as(Format::kTable, true)), "\033[1ma\033[0m\nx\n");
  EXPECT_EQ(render(rows, as(Format::kJson, true)), "[\n  {\n    \"a\": \"x\"\n  }\n]\n");
}

TEST(Output, ARecordIsOneObjectOrOneColumnALine) {
  const Rows record{.columns = {"study", "size"}, .rows = {{"a", kInfinity}}};
  EXPECT_EQ(render_record(record, as(Format::kJson)),
            "{\n  \"study\": \"a\",\n  \"size\": \"Infinity\"\n}\n");
  EXPECT_EQ(render_record(record, as(Format::kTable)), "study  a\nsize   Infinity\n");
}

PrintStyle on_terminal(int width) {
  PrintStyle style = as(Format::kTable);
  style.width = width;
  return style;
}

TEST(Output, ATableTakesNoMoreColumnsThanTheTerminalHas) {
  EXPECT_EQ(render(two_trials(), on_terminal(80)),
            "trial  state     value         lr  se\n"
            "    0  COMPLETE    0.5        0.1  true\n"
            "   12  FAIL        NaN  0.0123457  -\n");
  EXPECT_EQ(render(two_trials(), on_terminal(22)),
            "trial  state     value\n"
            "    0  COMPLETE    0.5\n"
            "   12  FAIL        NaN\n");
}

TEST(Output, LongWordsAreCutBeforeColumnsAreLeftOut) {
  const Rows rows{.columns = {"a", "b"}, .rows = {{std::string(70, 'x'), "y"}}};
  EXPECT_EQ(render(rows, on_terminal(50)), "a                                         b\n" +
                                               std::string(39, 'x') + "\xE2\x80\xA6  y\n");
}

TEST(Output, AWordThatFitsIsNotCutThoughItsLettersAreWide) {
  const Rows rows{.columns = {"a"}, .rows = {{"\xE8\xAA\x9E\xE8\xAA\x9E"}}};
  EXPECT_EQ(render(rows, as(Format::kTable)), "a\n\xE8\xAA\x9E\xE8\xAA\x9E\n");
}

TEST(Output, ANameKeepsWhatTellsItFromOthers) {
  const Rows rows{.columns = {"params"}, .rows = {{R"({"stages[0].op":"a","stages[1].op":"b"})"}}};
  EXPECT_EQ(render(rows, on_terminal(80)), "stages[0].op  stages[1].op\na             b\n");
}

TEST(Output, ChosenColumnsComeInTheirOrderInEveryFormat) {
  PrintStyle style = as(Format::kTable);
  style.columns = {"lr", "trial"};
  EXPECT_EQ(render(two_trials(), style), "params.lr  trial\n      0.1      0\n0.0123457     12\n");
  style.format = Format::kCsv;
  EXPECT_EQ(render(two_trials(), style), "params.lr,trial\n0.1,0\n0.0123456789,12\n");
  style = as(Format::kJsonl);
  style.columns = {"state", "trial"};
  EXPECT_EQ(render(two_trials(), style),
            "{\"state\":\"COMPLETE\",\"trial\":0}\n{\"state\":\"FAIL\",\"trial\":12}\n");
}

TEST(Output, AColumnThatThereIsNotIsAnErrorThatNamesThoseThereAre) {
  PrintStyle style = as(Format::kTable);
  style.columns = {"sate"};
  const auto text = render(two_trials(), style);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kUsage);
  EXPECT_EQ(text.error().message,
            "--columns: unknown column 'sate'; did you mean 'state'? known: trial, state, value, "
            "params.lr, params.se");
}

TEST(Output, NothingIsAnEmptyArrayOrAHead) {
  const Rows none{.columns = {"a", "b"}, .rows = {}};
  EXPECT_EQ(render(none, as(Format::kJson)), "[]\n");
  EXPECT_EQ(render(none, as(Format::kCsv)), "a,b\n");
}

TEST(Output, TextThatIsNotUtf8StaysJson) {
  const Rows rows{.columns = {"a"}, .rows = {{"\xff"}}};
  EXPECT_EQ(render(rows, as(Format::kJsonl)), "{\"a\":\"\xEF\xBF\xBD\"}\n");
}

TEST(WriteOutput, FollowsLinksAndReplacesNoDevice) {
  const testing_support::TempFolder folder;
  const std::filesystem::path file = folder.path() / "file", link = folder.path() / "link",
                              device = folder.path() / "device";
  std::filesystem::create_symlink("file", link);
  std::filesystem::create_symlink("/dev/null", device);
  ASSERT_TRUE(write_output(file, "old"));
  ASSERT_TRUE(write_output(link, "new"));
  ASSERT_TRUE(write_output(device, "gone"));
  EXPECT_EQ(read_file(file).value(), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_symlink(device));
  EXPECT_TRUE(std::filesystem::is_character_file(device));
}

}  // namespace
}  // namespace detol
