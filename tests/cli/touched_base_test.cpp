// Any SQLite client may open a knowledge base. Whatever it did there, every command then does what
// it does on a base that nobody touched.

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "encodings/study/study_config.h"
#include "knowledge/ledger.h"
#include "tests/knowledge/support.h"
#include "tests/support/other_program.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::Folder;  // in memory, as hundreds of commits follow
using testing_support::OtherProgram;

using Words = std::vector<std::string>;

// Calls of every command that reads or writes a base, but for those that start processes: there is
// a study of each name, s and t, and copies of the base as other.db and backup.db.
const std::vector<Words> kCalls = {
    {"status", "s"},
    {"studies"},
    {"study", "rename", "s", "renamed"},
    {"study", "copy", "s", "copied"},
    {"study", "delete", "s", "--yes"},
    {"study", "stop", "s"},
    {"study", "budget", "s", "+1trials"},
    {"study", "tag", "s", "word"},
    {"study", "note", "s", "text"},
    {"trials", "s"},
    {"trial", "s", "0"},
    {"best", "s"},
    {"pareto", "s"},
    {"importance", "s"},
    {"compare", "s", "t"},
    {"similar", "s", "best"},
    {"report", "s", "-o", "s.html"},
    {"plot", "s"},
    {"query", "SELECT * FROM v_trials"},
    {"test", "s"},
    {"retrain", "s", "--trial", "best"},
    {"prune", "s", "--trial", "best", "--to", "params=0.5"},
    {"quantize", "s"},
    {"landscape", "s"},
    {"ensemble", "s"},
    {"export", "s", "--to", "json"},
    {"predict", "s", "--data", "space.yaml"},
    {"db", "check"},
    {"db", "check", "--against", "backup.db"},
    {"db", "backup"},
    {"db", "backup", "new.db"},
    {"db", "restore", "backup.db"},
    {"db", "recover"},
    {"db", "vacuum"},
    {"db", "import", "trials.csv", "--space", "space.yaml", "--study", "imported"},
    {"db", "export", "--to", "csv"},
    {"db", "export", "--to", "json"},
    {"db", "export", "--to", "optuna", "-o", "optuna.db"},
    {"db", "merge", "other.db"},
};

// Commands that start processes (tests/e2e/touched_base_test.cpp), serve until they are stopped, or
// have nothing to do with a base.
const std::set<std::string_view> kOthers = {
    "search",    "tune",         "ask",    "tell",     "explore",    "resume",    "simulate",
    "worker",    "slurm",        "new",    "validate", "schema",     "dashboard", "data pack",
    "data info", "data inspect", "doctor", "bench",    "completion", "man"};

constexpr const char* kSpace = "version: 1\nstudy: s\nfunction: {name: sphere}\nbudget: 9trials\n";

void write_study(Ledger& ledger, const std::string& name, bool is_over) {
  const StudyConfig config = load_study_config(kSpace, "space.yaml").value();
  StudyRecord record;
  record.name = name;
  record.config = config.text;
  record.objectives = config.objectives;
  record.budget = "9trials";
  const StudyId study = ledger.create_study(record).value();
  for (TrialId id = 0; id < 30; ++id) {
    const double x = 0.1 * static_cast<double>(id);
    event::Asked asked;
    asked.trial = id;
    asked.params =
        config.space.at(std::vector<double>{0.01 * static_cast<double>(id), 0.5}).assignments();
    event::Reported reported;
    reported.trial = id;
    reported.epoch = 1;
    reported.metrics = {{"value", x}};
    event::Told told;
    told.trial = id;
    told.outcome = Measured{.values = {x}};
    ASSERT_TRUE(ledger.append(
        study, std::vector<Event>{asked, event::Started{id, 1, "w"}, reported, told}));
  }
  if (!is_over) return;
  ASSERT_TRUE(ledger.append(
      study, std::vector<Event>{event::StudyState{StudyPhase::kDone, "9trials", 99}}));
}

// Writes bases as a process leaves them that was killed: all they have is in the log.
void write_bases(const fs::path& folder, bool is_over) {
  Folder written;
  const auto ledger = Ledger::open(written.path() / "detol.db").value();
  for (const char* name : {"s", "t"}) write_study(*ledger, name, is_over);
  for (const char* name : {"detol.db", "other.db", "backup.db"}) {
    for (const char* tail : {"", "-wal"})
      fs::copy_file(written.path() / ("detol.db" + std::string(tail)),
                    folder / (name + std::string(tail)));
  }
  std::ofstream(folder / "space.yaml") << kSpace;
  std::ofstream(folder / "trials.csv") << "x0,x1,value\n1,2,3\n";
}

// Outcome: how a command ended. Exit codes of errors follow their kinds.
struct Outcome {
  std::optional<ErrorCode> error;  // nullopt: it did what it was told
  std::string message;
};

Outcome run_in(const fs::path& folder, Words words) {
  words.insert(words.end(), {"--storage", "detol.db", "-q"});
  const fs::path before = fs::current_path();
  fs::current_path(folder);
  testing::internal::CaptureStdout();
  const auto call = parse(words);
  const auto code =
      call ? run_call(*call) : Result<int>(tl::unexpected(call.error()));
  testing::internal::GetCapturedStdout();
  fs::current_path(before);
  if (code) return {};
  return {code.error().code, code.error().message};
}

struct Visit {
  const char* name;
  const char* sql;
  bool stays = false;
};

class TouchedBase : public testing::TestWithParam<Visit> {};

TEST_P(TouchedBase, IsReadAndWrittenByEveryCommandAsAnUntouchedOne) {
  for (const bool is_over : {false, true}) {
    Folder bases;
    write_bases(bases.path(), is_over);
    for (const Words& words : kCalls) {
      if (GetParam().stays && words == Words{"db", "recover"}) continue;  // which needs it alone
      Folder untouched, touched;
      for (const auto& folder : {untouched.path(), touched.path()})
        fs::copy(bases.path(), folder, fs::copy_options::recursive);
      std::vector<std::unique_ptr<OtherProgram>> others;
      for (const char* name : {"detol.db", "other.db", "backup.db"}) {
        others.push_back(std::make_unique<OtherProgram>(touched.path() / name));
        others.back()->run(GetParam().sql);
      }
      if (!GetParam().stays) others.clear();
      const Outcome expected = run_in(untouched.path(), words);
      const Outcome found = run_in(touched.path(), words);
      EXPECT_EQ(found.error, expected.error)
          << testing::PrintToString(words) << (is_over ? " over: " : " killed: ") << found.message
          << " instead of: " << expected.message;
      EXPECT_NE(found.error, ErrorCode::kStorage) << testing::PrintToString(words);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    By, TouchedBase,
    testing::Values(Visit{"Reading", "SELECT * FROM v_trials"},
                    Visit{"Creating", "CREATE TABLE mine (x); INSERT INTO mine VALUES (1)"},
                    Visit{"Vacuum", "VACUUM"}, Visit{"Staying", "SELECT 1", true}),
    [](const auto& visit) { return std::string(visit.param.name); });

TEST(TouchedBases, AreAskedOfEveryCommand) {
  std::set<std::string> called;
  for (const Words& words : kCalls) {
    const auto is_it = [&](const Command& command) {
      return command.name == words[0] ||
             (words.size() > 1 && command.name == words[0] + " " + words[1]);
    };
    const auto found = std::ranges::find_if(command_table().commands, is_it);
    ASSERT_NE(found, command_table().commands.end()) << words[0];
    called.insert(std::string(found->name));
  }
  for (const Command& command : command_table().commands)
    EXPECT_NE(called.contains(std::string(command.name)), kOthers.contains(command.name))
        << command.name << " belongs into one of the lists";
}

}  // namespace
}  // namespace detol
