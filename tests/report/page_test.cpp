// The page of a report: whole, quiet, and with every text as text.

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "report/base64.h"
#include "tests/report/written_study.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>";

// Returns what stands between the tags of the element that begins with `open`.
std::string inside(const std::string& page, const std::string& open) {
  const std::size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

std::string page_of_model(const Json& model, const std::string& title) {
  const auto page = page_of(model, title);
  EXPECT_TRUE(page) << page.error().message;
  return page.value_or("");
}

std::string json_in(const std::string& page) {
  return inside(page, R"(<script type="application/json" id="data">)");
}

TEST(ReportPage, WritesTextOfPeopleSoThatNoneIsMarkup) {
  WrittenStudy study;
  study.add({.curve = {1}, .proposer = kHostile, .worker = kHostile});
  study.add({.curve = {2}, .state = TrialState::kFail, .reason = {EndCause::kFailure, kHostile}});
  study.note(std::nullopt, kHostile);
  study.note(TrialId{1}, kHostile);
  ReportSource source = study.source();
  source.study.name = kHostile;
  source.study.objectives.front().metric = kHostile;
  const std::string page = page_of_model(model_of(source), source.study.name);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("onerror=alert(1)>"), std::string::npos);

  const Json model = Json::parse(json_in(page), nullptr, false);
  ASSERT_TRUE(model.is_object());
  EXPECT_EQ(model["study"], kHostile);
  EXPECT_EQ(model["trials"]["reason"][1], kHostile);
  EXPECT_EQ(model["trials"]["note"][1], kHostile);
  EXPECT_EQ(model["card"].back()[1], kHostile);
  EXPECT_EQ(model["workers"]["bars"]["worker"][0], kHostile);
}

TEST(ReportPage, ForbidsEveryUseOfANetwork) {
  WrittenStudy study;
  study.add({.curve = {1}});
  const std::string page = page_of_model(study.model(), "s");
  const std::string policy =
      R"(<meta http-equiv="Content-Security-Policy" content="default-src 'none'; )";
  const std::size_t at = page.find(policy);
  ASSERT_NE(at, std::string::npos);
  const std::string rest = page.substr(at, page.find('>', at) - at);
  EXPECT_EQ(rest.find("connect-src"), std::string::npos) << rest;
  EXPECT_EQ(rest.find('*'), std::string::npos) << rest;
  EXPECT_LT(at, page.find("<script"));
  EXPECT_EQ(page.find("http:"), std::string::npos);
  EXPECT_EQ(page.find("https:"), std::string::npos);
  EXPECT_EQ(page.find(" src="), std::string::npos);
  EXPECT_EQ(page.find("<link"), std::string::npos);
}

TEST(ReportPage, HasPlotlyInItAndFillsEveryPlace) {
  const std::string page = page_of_model(WrittenStudy().model(), "s");
  const std::string plotly = inside(page, R"(<script type="text/plain" id="plotly">)");
  EXPECT_GT(plotly.size(), 1'000'000U);
  EXPECT_TRUE(plotly.starts_with("H4sI"));  // gzip
  EXPECT_EQ(page.find("{{"), std::string::npos);
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
}

TEST(ReportPage, CanBeReadByKeyboardAndByAScreenReader) {
  const std::string page = page_of_model(WrittenStudy().model(), "s");
  for (const char* part :
       {R"(<a class="skip" href="#main">)", R"(<main id="main")", R"(<nav aria-label=)", "<h1 ",
        "name=\"viewport\"", "<noscript>", R"(scope: "col")", R"(scope: "row")", R"(role: "img")",
        R"(setAttribute("aria-label", says))", "aria-sort", "@media print"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
}

TEST(ReportPage, ReplacesBytesThatAreNoText) {
  WrittenStudy study;
  ReportSource source = study.source();
  source.study.name = "a\xff";
  const std::string page = page_of_model(model_of(source), "s");
  EXPECT_EQ(Json::parse(json_in(page))["study"], "a\xEF\xBF\xBD");
}

// RFC 4648, section 10.
TEST(ReportBase64, HasTheTestVectors) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

}  // namespace
}  // namespace detol::testing_support
