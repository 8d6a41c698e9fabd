// `detol landscape` of a study that was searched.

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/e2e/searched_study.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::json;

// Returns a trial that was trained to the end.
std::string whole_trial(const Searched& tiny) {
  const Json rows = tiny.query(
      "SELECT trial FROM v_trials WHERE state = 'COMPLETE' AND reason IS "
      "NULL ORDER BY trial");
  return std::to_string(rows.at(0)["trial"].get<int>());
}

TEST(Landscape, HasTheTrialInItsMiddleAndItsPathInTheReport) {
  const Searched tiny;
  const std::string trial = whole_trial(tiny);
  const Json rows = json_of(tiny.detol(
      {"landscape", "tiny", "--trial", trial, "--grid", "5", "--samples", "100000", "-f", "json"}));
  EXPECT_EQ(rows[0]["repeats"], "yes") << rows;
  const std::string file = rows[0]["file"];
  EXPECT_EQ(file, "detol.db.d/tiny/landscapes/" + trial + ".json");
  EXPECT_EQ(listing(tiny.path() / "detol.db.d/tiny/landscapes"),
            std::vector<std::string>{trial + ".json"});
  const Json found = Json::parse(text_of(tiny.path() / file));
  const double reported =
      tiny.query("SELECT value FROM v_metrics WHERE trial = " + trial +
                 " AND name = 'val_loss' ORDER BY epoch DESC LIMIT 1")[0]["value"];
  EXPECT_EQ(found["loss"], reported);
  EXPECT_NEAR(found["random"]["loss"][2][2].get<double>(), reported, 1e-6 * reported);
  EXPECT_EQ(found["random"]["x"], Json({-1.0, -0.5, 0.0, 0.5, 1.0}));
  const Json points = found["path"]["points"];
  EXPECT_EQ(points["epoch"], Json({0, 1, 2, 3}));
  EXPECT_EQ(points["x"][3], 0.0);
  EXPECT_EQ(points["y"][3], 0.0);
  EXPECT_EQ(points["loss"][0], nullptr);
  EXPECT_EQ(points["loss"][3], reported);
  const double first = found["path"]["explained"][0], second = found["path"]["explained"][1];
  EXPECT_GT(first, second);
  EXPECT_LE(first + second, 1 + 1e-9);

  ASSERT_EQ(tiny.detol({"report", "tiny", "-o", "r.html"}).code, 0);
  EXPECT_NE(text_of(tiny.path() / "r.html").find("\"landscapes\":{\"shown\":[{\"epochs\":3"),
            std::string::npos);
}

TEST(Landscape, OfTheSameTrialIsTheSameAgainAndChangesNothingOfTheStudy) {
  const Searched tiny;
  const std::string before = tiny.results(), trial = whole_trial(tiny);
  const auto measured = [&] {
    EXPECT_EQ(tiny.detol({"landscape", "tiny", "--trial", trial, "--grid", "3"}).code, 0);
    return text_of(tiny.path() / "detol.db.d/tiny/landscapes" / (trial + ".json"));
  };
  const std::string one = measured();
  EXPECT_FALSE(one.empty());
  EXPECT_EQ(measured(), one);
  EXPECT_EQ(tiny.results(), before);
}

TEST(Landscape, RefusesWhatHasNone) {
  const Searched tiny;
  const auto refused = [&](std::vector<std::string> words, int code, const std::string& why) {
    words.insert(words.begin(), "landscape");
    const Ran ran = tiny.detol(words);
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_NE(ran.err.find(why), std::string::npos) << ran.err;
  };
  refused({"tiny", "--grid", "4"}, 2, "it must be odd");
  refused({"tiny", "--grid", "1"}, 2, "at least 3");
  refused({"tiny", "--grid", "1001"}, 2, "at most 201");
  refused({"tiny", "--samples", "0"}, 2, "samples");
  refused({"tiny", "--trial", "99"}, 6, "no trial 99");
  refused({"nobody"}, 4, "nobody");
  write_bytes(tiny.path() / "f.yaml",
              "version: 1\nstudy: f\nfunction: {name: branin}\nbudget: 2trials\n");
  ASSERT_EQ(tiny.detol({"search", "--space", "f.yaml", "-j", "1"}).code, 0);
  refused({"f"}, 6, "scores a function");
}

}  // namespace
}  // namespace detol::testing_support
