// `detol study` and `detol db`: whole studies, also when the program is killed in the middle.

#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/e2e/environment.h"
#include "tests/e2e/tiny_study.h"

namespace detol::testing_support {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

void search(const TinyStudy& study, const std::string& budget) {
  Words words = study.search_words();
  words.insert(words.end(), {"--budget", budget});
  const Ran ran = study.detol(words);
  ASSERT_EQ(ran.code, 0) << ran.err;
}

// Returns everything of one study that must be the same in every run.
std::string results_of(const TinyStudy& study, const std::string& name) {
  const std::string where = " WHERE study = '" + name + "' ORDER BY trial";
  return study
             .detol({"query", "-f", "csv",
                     "SELECT trial, state, failure, algorithm, arch_hash, epochs, value, "
                     "values_json, params_json FROM v_trials" +
                         where})
             .out +
         study
             .detol({"query", "-f", "csv",
                     "SELECT trial, epoch, name, value FROM v_metrics" + where + ", epoch, name"})
             .out;
}

// A search of six trials without a break.
std::string undisturbed() {
  const TinyStudy study;
  search(study, "6trials");
  return results_of(study, "tiny");
}

TEST(Studies, DoNotTrainAgainWhatAnotherHasTrained) {
  const TinyStudy study;
  Words words = study.search_words();
  words.insert(words.end(), {"--pruner", "none", "--algorithm", "random", "--budget", "4trials"});
  ASSERT_EQ(study.detol(words).code, 0);
  words.insert(words.end(), {"--study", "second"});
  ASSERT_EQ(study.detol(words).code, 0);
  const auto count = [&](const std::string& from) {
    const Ran ran = study.detol({"query", "-f", "json", "SELECT count(*) AS n FROM " + from});
    return Json::parse(ran.out, nullptr, false).at(0).at("n").get<int>();
  };
  const int known =
      count("v_trials WHERE study = 'second' AND reason LIKE 'same as trial % of study tiny'");
  EXPECT_GE(known, 3);
  EXPECT_EQ(count("v_trials s JOIN v_trials t ON t.study = 'tiny' AND "
                  "s.reason = 'same as trial ' || t.trial || ' of study tiny' "
                  "WHERE s.study = 'second' AND s.values_json = t.values_json AND "
                  "s.epochs = t.epochs AND s.device_seconds = 0 AND t.device_seconds > 0"),
            known);
  EXPECT_EQ(count("v_trials WHERE study = 'second' AND device_seconds > 0"), 4);
  // Their checkpoints outlive the study that trained them: the first trial is its best.
  ASSERT_EQ(study.detol({"study", "delete", "tiny", "--yes"}).code, 0);
  const Ran exported =
      study.detol({"export", "second", "--trial", "0", "--to", "safetensors", "-o", "out"});
  EXPECT_EQ(exported.code, 0) << exported.err;
}

TEST(Studies, LeaveWhatIsKnownOfTheirDataNetworksAndRuns) {
  const TinyStudy study;
  search(study, "2trials");
  Words resume = {"resume", "tiny", "--budget", "+1trials", "--workers", "1"};
  ASSERT_EQ(study.detol(resume).code, 0);
  const auto answer = [&](const std::string& sql) {
    return study.detol({"query", "-f", "csv", sql}).out;
  };
  EXPECT_EQ(answer("SELECT name, shape, samples, classes, nearest_neighbour > 0.9 AS easy "
                   "FROM v_datasets"),
            "name,shape,samples,classes,easy\ndata,1x12x12,480,4,1\n");
  EXPECT_EQ(answer("SELECT count(*) AS missing FROM v_trials t LEFT JOIN v_networks n "
                   "USING (arch_hash) WHERE n.graph IS NULL OR n.params <> t.params"),
            "missing\n0\n");
  EXPECT_EQ(answer("SELECT command, study, workers, host_name <> '' AS named FROM v_runs "
                   "ORDER BY started"),
            "command,study,workers,named\nsearch,tiny,1,1\nresume,tiny,1,1\n");
  EXPECT_EQ(answer("SELECT runs, flops_per_second > 0 AS timed FROM v_hosts"),
            "runs,timed\n2,1\n");
}

TEST(Studies, ThatAreToBeIndependentTrainForThemselves) {
  const TinyStudy study;
  Words words = study.search_words();
  words.insert(words.end(), {"--budget", "2trials", "--set", "search.warm_start=none"});
  ASSERT_EQ(study.detol(words).code, 0);
  words.insert(words.end(), {"--study", "second"});
  ASSERT_EQ(study.detol(words).code, 0);
  EXPECT_EQ(study
                .detol({"query", "-f", "csv",
                        "SELECT count(*) FROM v_trials WHERE study = 'second' AND "
                        "device_seconds > 0"})
                .out,
            "count(*)\n2\n");
}

// A finished search of four trials that tests copy instead of running it again.
const TinyStudy& four_trials() {
  static const TinyStudy kStudy;
  static const bool kDone = [] {
    search(kStudy, "4trials");
    return true;
  }();
  EXPECT_TRUE(kDone);
  return kStudy;
}

// A copy of that search in a folder of its own.
struct FourTrials : TinyStudy {
  FourTrials() {
    fs::copy(four_trials().path() / "detol.db", path() / "detol.db");
    fs::copy(four_trials().path() / "detol.db.d", path() / "detol.db.d",
             fs::copy_options::recursive);
  }
};

TEST(Study, RenamedOrCopiedGoesOnAsItWouldHave) {
  const std::string expected = undisturbed();
  for (const char* word : {"rename", "copy"}) {
    const FourTrials study;
    ASSERT_EQ(study.detol({"study", word, "tiny", "other"}).code, 0);
    const Ran exported = study.detol({"export", "other", "--to", "onnx", "-o", "models"});
    EXPECT_EQ(exported.code, 0) << exported.err;
    const Ran resumed = study.detol({"resume", "other", "--budget", "+2trials"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(results_of(study, "other"), expected) << word;
  }
}

TEST(Study, ACopyAndItsOriginalDoNotDisturbEachOther) {
  const FourTrials study;
  const std::string before = results_of(study, "tiny");
  ASSERT_EQ(study.detol({"study", "copy", "tiny", "twin"}).code, 0);
  ASSERT_EQ(study.detol({"resume", "twin", "--budget", "+2trials"}).code, 0);
  EXPECT_EQ(results_of(study, "tiny"), before);
  const Ran gone = study.detol({"study", "delete", "tiny", "--yes", "-f", "json"});
  EXPECT_EQ(gone.code, 0) << gone.err;
  EXPECT_EQ(Json::parse(gone.out)["trials"], 4);
  EXPECT_EQ(study.detol({"export", "twin", "--to", "onnx", "-o", "models"}).code, 0);
  EXPECT_EQ(study.detol({"db", "check"}).out.substr(0, 17), "sound: 1 studies,");
}

struct Change {
  Words words;
  std::vector<Words> outcomes;  // names of studies: before, after
};

// Expects one of the outcomes of the change, and a folder of artefacts for every study.
void expect_whole(const TinyStudy& study, const Change& change, const std::string& at) {
  const Ran studies = study.detol({"studies", "-f", "json"});
  Words names;
  if (studies.code == 0) {
    for (const Json& row : Json::parse(studies.out)) names.push_back(row["study"]);
  }
  EXPECT_NE(std::ranges::find(change.outcomes, names), change.outcomes.end())
      << at << ": " << Json(names) << studies.err;
  for (const std::string& name : names)
    EXPECT_EQ(study.detol({"export", name, "--to", "json", "-o", name}).code, 0) << at;
  Words folders;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(study.path() / "detol.db.d", none))
    if (!entry.path().filename().string().starts_with('.'))
      folders.push_back(entry.path().filename());
  std::ranges::sort(folders);
  std::ranges::sort(names);
  EXPECT_EQ(folders, names) << at;
  EXPECT_EQ(study.detol({"db", "check"}).code, 0) << at;
}

TEST(Study, AKillAtAnyInstantOfAChangeLeavesTheOldOrTheNew) {
  const std::vector<Change> changes = {
      {{"study", "rename", "tiny", "new"}, {{"tiny"}, {"new"}}},
      {{"study", "copy", "tiny", "new"}, {{"tiny"}, {"tiny", "new"}}},
      {{"study", "delete", "tiny", "--yes"}, {{"tiny"}, {}}},
  };
  int kills = 0;
  for (const Change& change : changes) {
    for (const char* site : {"file.write", "file.rename", "study.change", "ledger.commit",
                             "ledger.committed", "study.folder"}) {
      const FourTrials study;
      const std::string at = change.words[1] + " " + site;
      {
        const Environment fault("DETOL_FAULT", std::string(site) + ":1:kill");
        kills += study.detol(change.words).code == 128 + SIGKILL ? 1 : 0;
      }
      expect_whole(study, change, at);
    }
  }
  EXPECT_EQ(kills, 17);  // of 3 x 6: a copy does not visit study.folder
}

TEST(Study, StoppingWhatNobodyRunsLeavesNoTrace) {
  const FourTrials study;
  ASSERT_EQ(study.detol({"studies"}).code, 0);  // a reader leaves an empty log
  const Words before = listing(study.path());
  const Ran ran = study.detol({"study", "stop", "tiny"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.err.find("nobody runs study tiny"), std::string::npos) << ran.err;
  EXPECT_EQ(listing(study.path()), before);
  EXPECT_EQ(study.detol({"study", "stop", "tinny"}).code, 4);
}

TEST(Study, StopsWhenAnotherProcessAsksForIt) {
  const TempFolder folder, elsewhere;
  write_bytes(folder.path() / "naps.yaml",
              "version: 1\nstudy: naps\nfunction: {name: sleep, seconds: 1}\n"
              "search: {algorithm: random}\nbudget: 100trials\n");
  Program running(folder.path(), {"search", "--space", "naps.yaml", "-j", "1"});
  ASSERT_TRUE(running.says("trial 0")) << running.wait().err;
  const std::string storage = (folder.path() / "detol.db").string();
  const Ran stop = run(elsewhere.path(), {"study", "stop", "naps", "--storage", storage});
  EXPECT_EQ(stop.code, 0) << stop.err;
  EXPECT_NE(stop.err.find("has stopped"), std::string::npos) << stop.err;
  EXPECT_EQ(running.wait().code, 75);
  EXPECT_FALSE(fs::exists(folder.path() / "detol.db.d" / "naps" / "stop-requested"));
  const Json study = Json::parse(run(folder.path(), {"studies", "-f", "json"}).out)[0];
  EXPECT_EQ(study["state"], "STOPPED");
  EXPECT_TRUE(study["run_by"].is_null()) << study;
}

TEST(Study, ChangesAreRefusedWhileItRuns) {
  const TinyStudy study;
  Program running(study.path(), study.search_words());
  ASSERT_TRUE(running.says("trial 0 epoch 1:")) << running.wait().err;
  for (const Words& words : std::vector<Words>{{"study", "rename", "tiny", "new"},
                                               {"study", "copy", "tiny", "new"},
                                               {"study", "delete", "tiny", "--yes"}}) {
    const Ran ran = study.detol(words);
    EXPECT_EQ(ran.code, 5) << ran.err;
    EXPECT_NE(ran.err.find("being written by process"), std::string::npos) << ran.err;
  }
  const Json studies = Json::parse(study.detol({"studies", "-f", "json"}).out);
  EXPECT_TRUE(studies[0]["run_by"].is_string()) << studies;
  const Ran backup = study.detol({"db", "backup", "copy.db"});
  EXPECT_EQ(backup.code, 0) << backup.err;
  EXPECT_EQ(study.detol({"db", "check", "--against", "copy.db"}).code, 0);
  EXPECT_EQ(running.wait().code, 0);
  EXPECT_EQ(study.detol({"db", "check", "--against", "copy.db"}).code, 0);
  EXPECT_EQ(study.detol({"db", "check", "--storage", "copy.db"}).code, 0);
}

TEST(Database, ADamagedOneIsNamedAndNotBackedUp) {
  const FourTrials study;
  std::string bytes = text_of(study.path() / "detol.db");
  const std::size_t at = bytes.find("val_accuracy\":0.");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 17] = bytes[at + 17] == '1' ? '2' : '1';
  write_bytes(study.path() / "detol.db", bytes);
  const Ran checked = study.detol({"db", "check"});
  EXPECT_EQ(checked.code, 5);
  EXPECT_NE(checked.out.find("is damaged"), std::string::npos) << checked.out;
  EXPECT_EQ(study.detol({"db", "backup", "copy.db"}).code, 5);
  EXPECT_FALSE(fs::exists(study.path() / "copy.db"));
}

}  // namespace
}  // namespace detol::testing_support
