// `detol report` of studies that were really searched.

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include <gtest/gtest.h>

#include "core/program.h"
#include "tests/e2e/tiny_study.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::json;

// Returns the numbers of a written report.
Json model_in(const std::filesystem::path& file) {
  const std::string page = text_of(file), open = R"(<script type="application/json" id="data">)";
  const std::size_t begin = page.find(open) + open.size();
  EXPECT_TRUE(page.ends_with("</html>\n")) << file;
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin), nullptr, false);
}

// Returns the commands of docs/reports.md, each as its words behind `detol`.
std::vector<std::vector<std::string>> documented_commands() {
  std::vector<std::vector<std::string>> commands;
  std::istringstream lines(text_of(DETOL_SOURCE_DIR "/docs/reports.md"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("    detol ")) continue;
    std::istringstream words(line.substr(10, line.find('#') - 10));
    commands.emplace_back(std::istream_iterator<std::string>(words),
                          std::istream_iterator<std::string>());
  }
  return commands;
}

// Searches study `two`, of 30 trials.
Ran search_two_objectives(const std::filesystem::path& folder) {
  write_bytes(folder / "two.yaml",
              "version: 1\nstudy: two\nfunction: {name: zdt1, dimensions: 3}\n"
              "search: {algorithm: nsga2}\nbudget: 30trials\n");
  return run(folder, {"search", "--space", "two.yaml", "-j", "1"});
}

TEST(Report, OfASearchHasAllThatItFound) {
  const TinyStudy tiny;
  std::vector<std::string> search = tiny.search_words();
  search.insert(search.end(), {"--study", "fashion-cnn"});
  ASSERT_EQ(tiny.detol(search).code, 0);
  const auto commands = documented_commands();
  ASSERT_EQ(commands.size(), 4U);
  for (const auto& words : commands) {
    const Ran ran = tiny.detol(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
  const Json model = model_in(tiny.path() / "fashion.html");
  EXPECT_EQ(model_in(tiny.path() / "fashion-cnn.html")["trials"], model["trials"]);

  const Json best = Json::parse(tiny.detol({"best", "fashion-cnn", "-f", "json"}).out);
  EXPECT_EQ(model["found"]["best"]["trial"], best["trial"]);
  EXPECT_EQ(model["found"]["best"]["values"][0], best["values"]["val_accuracy"]);
  EXPECT_EQ(model["found"]["best"]["params"], best["params"]);
  EXPECT_EQ(model["history"]["by_trial"]["best"].back(), best["values"]["val_accuracy"]);
  EXPECT_FALSE(model["found"]["tests"].empty());  // a search tests its best trial
  EXPECT_GT(model["workers"]["utilization"], 0.0);
  EXPECT_EQ(model["workers"]["busy"][0]["worker"], "local/0");
  EXPECT_FALSE(model["curves"]["curves"].empty());
  const Json& drawings = model["networks"]["drawings"];
  ASSERT_FALSE(drawings.empty());
  EXPECT_EQ(drawings[0]["trial"], best["trial"]);
  EXPECT_EQ(drawings[0]["layers"], drawings[0]["list"].size());
  if (find_program("dot").empty()) GTEST_SKIP() << "Graphviz is not installed";
  EXPECT_TRUE(drawings[0]["svg"].get<std::string>().starts_with("PD94bWwg"));  // <?xml, in base64

  Program without(tiny.path(), {"report", "fashion-cnn"}, {"PATH=/nowhere"});
  EXPECT_EQ(without.wait().code, 0);
  const Json undrawn = model_in(tiny.path() / "fashion-cnn.html")["networks"]["drawings"][0];
  EXPECT_FALSE(undrawn.contains("svg"));
  EXPECT_NE(undrawn["why"].get<std::string>().find("Debian: graphviz"), std::string::npos);
}

TEST(Report, OfAFunctionWithTwoObjectivesHasItsFront) {
  const TempFolder folder;
  ASSERT_EQ(search_two_objectives(folder.path()).code, 0);
  const Ran ran = run(folder.path(), {"report", "-f", "json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json written = Json::parse(ran.out)[0];
  EXPECT_EQ(written["file"], "two.html");
  EXPECT_EQ(written["bytes"], text_of(folder.path() / "two.html").size());
  const Json model = model_in(folder.path() / "two.html");
  const Json front = Json::parse(run(folder.path(), {"pareto", "two", "-f", "json"}).out);
  ASSERT_EQ(model["pareto"]["front"].size(), front.size());
  for (std::size_t i = 0; i < front.size(); ++i)
    EXPECT_EQ(model["pareto"]["front"][i], front[i]["trial"]);
  EXPECT_EQ(model["importance"]["rows"].size(), 3U);
  EXPECT_TRUE(model["networks"].is_null()) << "a function has none";
}

TEST(Report, OfAskedTrialsWaitsForNoneOfThem) {
  const TempFolder folder;
  ASSERT_EQ(run(folder.path(),
                {"ask", "bread", "--param", "oven=float(150,250)", "--metric", "taste:maximize"})
                .code,
            0);
  ASSERT_EQ(run(folder.path(), {"report", "bread"}).code, 0);
  const Json before = model_in(folder.path() / "bread.html");
  EXPECT_TRUE(before["found"].contains("why"));
  EXPECT_EQ(before["trials"]["state"], Json({"RUNNING"}));
  ASSERT_EQ(run(folder.path(), {"tell", "bread", "0", "--value", "7.5"}).code, 0);
  ASSERT_EQ(run(folder.path(), {"report", "bread"}).code, 0);
  EXPECT_EQ(model_in(folder.path() / "bread.html")["found"]["best"]["values"], Json({7.5}));
}

TEST(Report, RefusesWhatItCannotWriteAndLeavesNothing) {
  const TempFolder folder;
  EXPECT_EQ(run(folder.path(), {"report"}).code, 4);
  ASSERT_EQ(run(folder.path(),
                {"ask", "bread", "--param", "oven=float(150,250)", "--metric", "taste:maximize"})
                .code,
            0);
  std::filesystem::create_directory(folder.path() / "there");
  const Ran over = run(folder.path(), {"report", "bread", "-o", "there"});
  EXPECT_EQ(over.code, 2);
  EXPECT_NE(over.err.find("there is a folder"), std::string::npos) << over.err;
  EXPECT_EQ(run(folder.path(), {"report", "bread", "-o", "nowhere/x.html"}).code, 5);
  EXPECT_EQ(run(folder.path(), {"report", "bred"}).code, 4);
  for (const std::string& name : listing(folder.path()))
    EXPECT_EQ(name.find("html"), std::string::npos) << name;
}

TEST(Plot, DrawsHistoryAndFrontAndWritesThem) {
  const TempFolder folder;
  ASSERT_EQ(search_two_objectives(folder.path()).code, 0);
  const Ran text = run(folder.path(), {"plot"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("two: optimisation history (minimize "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("two: Pareto front (minimize "), std::string::npos) << text.out;

  const Json points = Json::parse(run(folder.path(), {"plot", "-f", "json"}).out);
  const Json front = Json::parse(run(folder.path(), {"pareto", "-f", "json"}).out);
  const auto count = [&](std::string_view series) {
    return std::ranges::count_if(points, [&](const Json& row) { return row["series"] == series; });
  };
  EXPECT_EQ(count("best so far"), 30);
  EXPECT_EQ(count("Pareto front"), std::ssize(front));
  double best = std::numeric_limits<double>::infinity();
  for (const Json& row : points) {
    if (row["series"] != "best so far") continue;
    EXPECT_LE(row["y"], best) << "the best never gets worse";
    best = row["y"];
  }

  const Ran refused = run(folder.path(), {"plot", "-o", "front.pdf"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("must end in .svg or .png"), std::string::npos) << refused.err;
  Program without(folder.path(), {"plot", "-o", "front.svg"}, {"PATH=/nowhere"});
  EXPECT_EQ(without.wait().code, 7);
  if (find_program("gnuplot").empty()) GTEST_SKIP() << "gnuplot is not installed";
  const Ran nowhere = run(folder.path(), {"plot", "-o", "no/front.svg"});
  EXPECT_EQ(nowhere.code, 5);
  EXPECT_EQ(nowhere.out, "");
  EXPECT_EQ(run(folder.path(), {"plot", "-o", "front.svg"}).code, 0);
  EXPECT_NE(text_of(folder.path() / "front.svg").find("two: Pareto front"), std::string::npos);
  EXPECT_EQ(run(folder.path(),
                {"plot", "--what", "history", "--against", "device-time", "-o", "history.png"})
                .code,
            0);
  EXPECT_TRUE(text_of(folder.path() / "history.png").starts_with("\x89PNG"));
}

}  // namespace
}  // namespace detol::testing_support
