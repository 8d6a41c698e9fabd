// Tags and notes on the command line, also while the study is searched.

#include <csignal>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::json;

class LabelCommands : public testing::Test {
 protected:
  LabelCommands() {
    write_bytes(folder_.path() / "naps.yaml",
                "version: 1\nstudy: naps\nfunction: {name: sleep, seconds: 0}\n"
                "search: {algorithm: random}\nbudget: 6trials\n");
  }

  Ran detol(const std::vector<std::string>& words) const { return run(folder_.path(), words); }

  Json json(std::vector<std::string> words) const {
    words.insert(words.end(), {"-f", "json"});
    const Ran ran = detol(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return Json::parse(ran.out, nullptr, false);
  }

  void search() const { ASSERT_EQ(detol({"search", "--space", "naps.yaml", "-j", "1"}).code, 0); }

  TempFolder folder_;
};

TEST_F(LabelCommands, ShowAndChooseWhatWasLabelled) {
  search();
  ASSERT_EQ(detol({"search", "--space", "naps.yaml", "--study", "other"}).code, 0);
  EXPECT_EQ(detol({"trials", "naps"}).out.find("tags"), std::string::npos);
  ASSERT_EQ(detol({"study", "tag", "naps", "paper", "late"}).code, 0);
  ASSERT_EQ(detol({"study", "tag", "naps", "late", "--remove"}).code, 0);
  ASSERT_EQ(detol({"study", "note", "naps", "with two\nlines"}).code, 0);
  const Json studies = json({"studies", "--tag", "paper"});
  ASSERT_EQ(studies.size(), 1U);
  EXPECT_EQ(studies[0]["study"], "naps");
  EXPECT_EQ(studies[0]["tags"], Json({"paper"}));
  EXPECT_EQ(json({"studies"})[1]["tags"], Json::array());
  EXPECT_EQ(json({"status", "naps"})["note"], "with two\nlines");
  EXPECT_EQ(json({"status", "other"})["note"], Json());
  ASSERT_EQ(detol({"study", "note", "naps", ""}).code, 0);
  EXPECT_EQ(json({"status", "naps"})["note"], Json());

  EXPECT_EQ(json({"trial", "naps", "4", "--tag", "1e3", "--tag", "keep", "--note", "flat"})["tags"],
            Json({"1e3", "keep"}));
  const Json kept = json({"trials", "naps", "--tag", "keep"});
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0]["trial"], 4);
  EXPECT_EQ(kept[0]["note"], "flat");
  const std::string csv = detol({"trials", "naps", "--tag", "keep", "-f", "csv"}).out;
  EXPECT_NE(csv.find(",1e3 keep,flat,"), std::string::npos) << csv;
  EXPECT_NE(detol({"trials", "naps"}).out.find("1e3 keep"), std::string::npos);
  EXPECT_EQ(json({"trial", "naps", "4", "--tag", "keep", "--remove"})["tags"], Json({"1e3"}));
  EXPECT_EQ(detol({"trials", "naps", "--tag", "keep"}).code, 6);
  EXPECT_EQ(detol({"studies", "--tag", "keep"}).code, 6);
}

TEST_F(LabelCommands, RefuseWhatNobodyCouldSayAgain) {
  search();
  EXPECT_EQ(detol({"study", "tag", "naps", "two words"}).code, 2);
  EXPECT_EQ(detol({"study", "tag", "naps", "a,b"}).code, 2);
  EXPECT_EQ(detol({"study", "tag", "naps", ""}).code, 2);
  EXPECT_EQ(detol({"study", "tag", "naps"}).code, 2);
  EXPECT_EQ(detol({"study", "note", "naps", "\xff"}).code, 2);
  EXPECT_EQ(detol({"trial", "naps", "1", "--remove"}).code, 2);
  EXPECT_EQ(detol({"trial", "naps", "99", "--tag", "a"}).code, 6);
  EXPECT_EQ(detol({"study", "tag", "nap", "a"}).code, 4);
  EXPECT_EQ(detol({"study", "tag", "naps", "a", "--storage", "none.db"}).code, 4);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "none.db"));
}

TEST_F(LabelCommands, NeedNotWaitForTheSearch) {
  Program search(folder_.path(), {"search", "--space", "naps.yaml", "-j", "1", "--set",
                                  "function.seconds=1000", "--progress", "events"});
  ASSERT_TRUE(search.says("trial 0 starts"));
  EXPECT_EQ(detol({"study", "tag", "naps", "running"}).code, 0);
  EXPECT_EQ(detol({"study", "note", "naps", "so far so good"}).code, 0);
  EXPECT_EQ(json({"trial", "naps", "0", "--tag", "slow"})["state"], "RUNNING");
  EXPECT_EQ(json({"studies", "--tag", "running"}).size(), 1U);
  search.signal(SIGTERM);
  EXPECT_EQ(search.wait().code, 75);
  EXPECT_EQ(json({"trials", "naps", "--tag", "slow"})[0]["trial"], 0);
  ASSERT_EQ(detol({"study", "rename", "naps", "siesta"}).code, 0);
  ASSERT_EQ(detol({"db", "backup", "copy.db"}).code, 0);
  ASSERT_EQ(detol({"db", "merge", "copy.db", "--storage", "merged.db"}).code, 0);
  for (const char* base : {"detol.db", "copy.db", "merged.db"})
    EXPECT_EQ(json({"status", "siesta", "--storage", base})["note"], "so far so good") << base;
}

}  // namespace
}  // namespace detol::testing_support
