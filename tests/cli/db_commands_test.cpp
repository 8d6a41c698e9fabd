// `db restore` and `studies` over bases as killed processes leave them.

#include <stdlib.h>

#include <filesystem>

#include "encodings/study/study_config.h"
#include "knowledge/backup.h"
#include "tests/cli/command_on_base.h"

namespace detol {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSphere = "version: 1\nstudy: s\nfunction: {name: sphere}\n";

class BaseCommands : public testing_support::CommandOnBase {
 protected:
  std::unique_ptr<Ledger> begin_study() const {
    auto ledger = Ledger::open(storage()).value();
    StudyRecord record;
    record.name = "s";
    record.config = kSphere;
    record.objectives = {minimize("value")};
    record.budget = "9trials";
    (void)ledger->create_study(record).value();
    return ledger;
  }
};

TEST_F(BaseCommands, RestoreFindsTheBackupThatAKilledRotationLeft) {
  begin_study();
  const fs::path file = default_backup(storage());
  ASSERT_TRUE(back_up(storage(), file, false));
  fs::rename(file, file.string() + ".1");
  EXPECT_EQ(json({"db", "restore"})["backup"], file.string() + ".1");
}

// There one process opens the file once.
TEST_F(BaseCommands, LabelOnANetworkFileSystem) {
  auto ledger = begin_study();
  append_trial(*ledger, 1, 0,
               load_study_config(kSphere, "s.yaml")->space.at(std::vector<double>{0.5, 0.5}),
               {{"value", 1.0}});
  ledger.reset();
  ::setenv("DETOL_TEST_NETWORK_FS", "1", 1);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_TRUE(run({"study", "note", "s", "text"}).code);
  EXPECT_TRUE(run({"study", "tag", "s", "word"}).code);
  EXPECT_EQ(json({"trial", "s", "0", "--note", "text"})["note"], "text");
  ::unsetenv("DETOL_TEST_NETWORK_FS");  // NOLINT(concurrency-mt-unsafe)
}

TEST_F(BaseCommands, AStudyThatNobodyRunsAnyMoreWasKilled) {
  auto ledger = begin_study();
  EXPECT_EQ(json({"studies"})[0]["state"], "RUNNING");
  EXPECT_EQ(json({"status", "s"})["state"], "RUNNING");
  ledger.reset();
  EXPECT_EQ(json({"studies"})[0]["state"], "KILLED");
  const Json status = json({"status", "s"});
  EXPECT_EQ(status["state"], "KILLED");
  EXPECT_EQ(status["situation"], "killed; resume with `detol resume s`");
  EXPECT_EQ(json({"query", "SELECT state FROM v_studies"})[0]["state"], "RUNNING");
}

}  // namespace
}  // namespace detol
