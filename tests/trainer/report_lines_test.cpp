#include "trainer/programs/report_lines.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace detol {
namespace {

// Returns "3 loss=0.5; 4 loss=0.25" for the reports in a file of these bytes.
std::string text_of(const std::vector<StepReport>& reports) {
  std::ostringstream text;
  for (const StepReport& one : reports) {
    text << (text.tellp() > 0 ? "; " : "") << one.step;
    for (const auto& [name, value] : one.metrics) text << ' ' << name << '=' << value;
  }
  return text.str();
}

class Lines : public testing::Test {
 protected:
  void append(const std::string& bytes) const {
    std::ofstream(path_, std::ios::app | std::ios::binary) << bytes;
  }
  ReportLines open(std::vector<std::string> wanted = {"loss"}) const {
    return ReportLines::open(path_, std::move(wanted)).value();
  }
  std::string reports_in(const std::string& bytes, std::vector<std::string> wanted = {"loss"}) {
    std::filesystem::remove(path_);
    append(bytes);
    return text_of(open(std::move(wanted)).read());
  }

  testing_support::TempFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "report.jsonl";
};

struct Case {
  const char *name, *bytes, *reports;
  friend void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }
};

constexpr Case kCases[] = {
    {"Steps", "{\"step\": 1, \"loss\": 0.5}\n{\"step\": 7, \"loss\": 2}\n", "1 loss=0.5; 7 loss=2"},
    {"NoSteps", "{\"loss\": 0.5}\n{\"loss\": 0.25}\n", "1 loss=0.5; 2 loss=0.25"},
    {"Epochs", "{\"epoch\": 2, \"loss\": 1}\n", "2 loss=1"},
    {"StepsFromZero", "{\"step\": 0, \"loss\": 1}\n{\"step\": 1, \"loss\": 2}\n",
     "1 loss=1; 2 loss=2"},
    {"OutOfOrder",
     "{\"step\": 3, \"loss\": 1}\n{\"step\": 2, \"loss\": 9}\n{\"step\": 3, \"loss\": 9}\n"
     "{\"step\": 4, \"loss\": 2}\n",
     "3 loss=1; 4 loss=2"},
    {"SeveralLinesOfAStep", "{\"step\": 1, \"size\": 4}\n{\"step\": 1, \"loss\": 1}\n",
     "1 loss=1 size=4"},
    {"WithoutItsMetric", "{\"step\": 1, \"size\": 4}\n{\"step\": 2, \"loss\": 1}\n", "2 loss=1"},
    {"NotFinite", "{\"loss\": NaN, \"a\": -Infinity, \"b\": \"NaN\", \"c\": \"x\\\" NaN\"}\n",
     "1 a=-inf b=nan loss=nan"},
    {"NotFiniteInOtherLanguages",
     "{\"loss\": nan, \"a\": -inf, \"b\": \"INF\", \"c\": -NaN, \"d\": +infinity, \"e\": 1e5}\n",
     "1 a=-inf b=inf c=nan d=inf e=100000 loss=nan"},
    {"AProgressBar", "{\"loss\": 9}\r{\"loss\": 1}\r\n", "1 loss=1"},
    {"OtherValues", "{\"loss\": 1, \"name\": \"x\", \"flag\": true, \"list\": [1]}\n", "1 loss=1"},
    {"NoJson", "loss 3\n[1]\n\n   \n{\"loss\": 1}\n", "1 loss=1"},
    {"CarriageReturn", "{\"loss\": 1}\r\n", "1 loss=1"},
    {"BadStep",
     "{\"step\": 1.5, \"loss\": 1}\n{\"step\": -1, \"loss\": 1}\n{\"step\": 1e12, \"loss\": "
     "1}\n{\"step\": 3.0, \"loss\": 1}\n",
     "3 loss=1"},
};

class EveryLine : public Lines, public testing::WithParamInterface<Case> {};

TEST_P(EveryLine, IsReadAsItsCaseSays) {
  EXPECT_EQ(reports_in(GetParam().bytes), GetParam().reports);
}

INSTANTIATE_TEST_SUITE_P(All, EveryLine, testing::ValuesIn(kCases),
                         [](const auto& tested) { return tested.param.name; });

TEST_F(Lines, OfAProgramThatHasEndedMayLackTheirLastEnd) {
  for (const auto& [written, last] :
       {std::pair("{\"loss\": 1}", "1 loss=1"), {"{\"loss\": 1", ""}, {"", ""}}) {
    std::filesystem::remove(path_);
    ReportLines lines = open();
    append(written);
    EXPECT_EQ(text_of(lines.read()), "") << written;
    EXPECT_EQ(text_of(lines.unended()), last) << written;
    EXPECT_EQ(text_of(lines.unended()), "") << written;
  }
}

TEST_F(Lines, AreReadAsTheyCome) {
  ReportLines lines = open();
  EXPECT_EQ(text_of(lines.read()), "");
  append("{\"step\": 1, \"lo");
  EXPECT_EQ(text_of(lines.read()), "");
  append("ss\": 0.5}\n{\"step\": 2");
  EXPECT_EQ(text_of(lines.read()), "1 loss=0.5");
  append(", \"loss\": 0.25}\n");
  EXPECT_EQ(text_of(lines.read()), "2 loss=0.25");
  std::filesystem::remove(path_);
  EXPECT_EQ(text_of(lines.read()), "");
}

TEST_F(Lines, MayBeginWithAByteOrderMark) {
  ReportLines lines = open();
  append("\xef\xbb\xbf{\"loss\": 0.5}\n{\"loss\": 0.25}\n");
  EXPECT_EQ(text_of(lines.read()), "1 loss=0.5; 2 loss=0.25");
}

TEST_F(Lines, OfWhatIsNoFileAreNone) {
  ReportLines lines = open();
  std::filesystem::remove(path_);
  std::filesystem::create_symlink("/dev/zero", path_);
  EXPECT_EQ(text_of(lines.read()), "");
}

TEST_F(Lines, OfALaterAttemptFollowAnUnfinishedOne) {
  append("{\"step\": 1, \"loss\": 0.5}\n{\"step\": 2, \"lo");
  ReportLines lines = open();
  append("{\"step\": 2, \"loss\": 0.25}\n");
  EXPECT_EQ(text_of(lines.read()), "1 loss=0.5; 2 loss=0.25");
  ASSERT_EQ(lines.mistakes().size(), 1u);
  EXPECT_EQ(lines.mistakes()[0], "line 2 of the report: it is no JSON object");
}

TEST_F(Lines, OfAProgramThatBeginsAgainCountFromItsFirstStep) {
  append("{\"loss\": 5}\n{\"loss\": 4}\n");
  ReportLines lines = open();
  EXPECT_EQ(text_of(lines.read()), "1 loss=5; 2 loss=4");
  ASSERT_TRUE(lines.begins_again());
  append("{\"loss\": 5}\n{\"loss\": 4}\n{\"loss\": 3}\n");
  EXPECT_EQ(text_of(lines.read()), "3 loss=3");
  EXPECT_EQ(text_of(open().read()), "1 loss=5; 2 loss=4; 3 loss=3");  // whoever reads it later
}

TEST_F(Lines, OfSeveralMetricsCountFromTheFirstStepTogether) {
  append("{\"size\": 1}\n{\"loss\": 5}\n{\"size\": 1}\n");
  ReportLines lines = open({"loss", "size"});
  EXPECT_EQ(text_of(lines.read()), "1 loss=5 size=1");
  ASSERT_TRUE(lines.begins_again());
  append("{\"loss\": 5}\n{\"size\": 1}\n{\"loss\": 4}\n{\"size\": 2}\n");
  EXPECT_EQ(text_of(lines.read()), "2 loss=4 size=2");
  EXPECT_EQ(lines.unnumbered(), 7u);
}

TEST_F(Lines, MayHaveAMetricOfTheNameOfOurNotes) {
  EXPECT_EQ(reports_in("{\"detol\": 5}\n{\"detol\": 4}\n", {"detol"}), "1 detol=5; 2 detol=4");
}

TEST_F(Lines, OfAProgramThatDidNotReportAreLeftAsTheyAre) {
  append("nothing\n");
  ReportLines lines = open();
  EXPECT_EQ(text_of(lines.read()), "");
  ASSERT_TRUE(lines.begins_again());
  EXPECT_EQ(std::filesystem::file_size(path_), 8u);
}

TEST_F(Lines, AreNotNestedDeeperThanTheStack) {
  ReportLines lines = open();
  append("{\"loss\": 1, \"more\": " + std::string(200'000, '[') + std::string(200'000, ']') +
         "}\n");
  EXPECT_EQ(text_of(lines.read()), "");
  append(std::string(200'000, '[') + std::string(200'000, ']'));
  EXPECT_EQ(text_of(lines.read()), "");
  EXPECT_EQ(text_of(lines.unended()), "");
  ASSERT_EQ(lines.mistakes().size(), 1u);
}

struct Useless {
  const char *lines, *why;
};

TEST_F(Lines, OfWhichNoneIsAReportSayWhy) {
  for (const auto& [written, why] :
       {Useless{"", ""},
        {"\n  \n", ""},
        {"{\"loss\": \"0.5\"}\n",
         "line 1 of the report: loss is the text '0.5'; it must be a number"},
        {"{\"loss\": [0.5]}\n", "line 1 of the report: loss is a list; it must be a number"},
        {"{\"loss\": {}}\n", "line 1 of the report: loss is an object; it must be a number"},
        {"{\"loss\": null}\n", "line 1 of the report: loss is null; it must be a number"},
        {"\n{\"loss\": true}\n", "line 2 of the report: loss is true; it must be a number"},
        {"loss 3\n", "line 1 of the report: it is no JSON object"},
        {"{\"loss\": 1, \"at\": \"caf\xe9\"}\n",
         "line 1 of the report: it has bytes that are not UTF-8"},
        {"{\"val_loss\": 1}\n{\"val_loss\": 1, \"a\": 2}\n",
         "it reported val_loss, a; the objective is loss"},
        {"{\"step\": 1}\n", "it reported no number; the objective is loss"},
        {"{\"loss\": 1}\n{\"loss\": null}\n", ""}}) {
    std::filesystem::remove(path_);
    append(written);
    ReportLines lines = open();
    (void)lines.read();
    EXPECT_EQ(lines.why_none(), why) << written;
  }
}

TEST_F(Lines, SayWhichMetricsAReportNeeds) {
  append("{\"loss\": 1}\n");
  ReportLines lines = open({"loss", "size"});
  EXPECT_EQ(text_of(lines.read()), "");
  EXPECT_EQ(lines.why_none(), "it reported loss; a report needs loss, size");
}

TEST_F(Lines, NeedAllMetricsThatAreWanted) {
  EXPECT_EQ(reports_in("{\"loss\": 1}\n{\"size\": 2}\n", {"loss", "size"}), "1 loss=1 size=2");
}

}  // namespace
}  // namespace detol
