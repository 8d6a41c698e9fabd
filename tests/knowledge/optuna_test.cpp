// Optuna's databases, and the histories behind every import and export.

#include "knowledge/exchange/optuna.h"

#include <cmath>
#include <fstream>

#include <sqlite3.h>

#include "knowledge/storage/sqlite.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

using testing_support::asked;
using testing_support::complete;
using testing_support::failed;
using testing_support::Folder;
using testing_support::must;
using testing_support::OneStudy;
using testing_support::reported;
using testing_support::started;
using testing_support::study_named;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Space small_space() {
  return SpaceBuilder()
      .add_float("lr", 1e-4, 1, {.log = true})
      .add_categorical("op", {"conv", "pool"})
      .add_int("depth", 1, 4)
      .add_bool("se", {.when = {"op", {"conv"}}})
      .build()
      .value();
}

using Params = std::vector<std::pair<std::string, Value>>;
const Params kConv = {
    {"lr", 0.1}, {"op", std::string("conv")}, {"depth", std::int64_t{3}}, {"se", true}};
const Params kPool = {{"lr", 0.25}, {"op", std::string("pool")}, {"depth", std::int64_t{1}}};

// Returns a study with a complete, a pruned and a failed trial.
OptunaStudy three_trials(const std::string& name) {
  return {
      .name = name,
      .objectives = {maximize("val_accuracy")},
      .space = small_space(),
      .trials = {
          {.state = TrialState::kComplete,
           .params = kConv,
           .curve = {{1, {{"val_accuracy", 0.5}}}, {2, {{"val_accuracy", 0.75}}}},
           .started_s = 1700000000.25,
           .finished_s = 1700000100},
          {.state = TrialState::kPruned, .params = kPool, .curve = {{1, {{"val_accuracy", 0.25}}}}},
          {.state = TrialState::kFail,
           .params = kPool,
           .curve = {{1, {{"val_accuracy", kNaN}}}},
           .failure = Cause::kDiverged}}};
}

OptunaSource source_of(const std::filesystem::path& path, const std::string& study = "") {
  return {path, study, {maximize("val_accuracy")}, "val_accuracy"};
}

TEST(Optuna, ReadsBackWhatWasWritten) {
  const Folder folder;
  const auto path = folder / "optuna.db";
  must(write_optuna(path, std::vector{three_trials("s")}));
  const auto trials = must(read_optuna(source_of(path)));
  ASSERT_EQ(trials.size(), 3U);
  EXPECT_EQ(trials[0].state, TrialState::kComplete);
  EXPECT_EQ(trials[0].params, kConv);
  ASSERT_EQ(trials[0].curve.size(), 2U);
  EXPECT_EQ(trials[0].curve[1].epoch, 2);
  EXPECT_EQ(trials[0].curve[1].metrics.front().second, 0.75);
  EXPECT_NEAR(trials[0].started_s, 1700000000.25, 0.01);
  EXPECT_NEAR(trials[0].finished_s, 1700000100, 0.01);
  EXPECT_EQ(trials[1].state, TrialState::kPruned);
  EXPECT_EQ(trials[1].params, kPool);
  EXPECT_EQ(trials[1].started_s, 0);
  EXPECT_EQ(trials[2].state, TrialState::kFail);
  EXPECT_TRUE(std::isnan(trials[2].curve.front().metrics.front().second));
}

// Lets another program change a database that Optuna could have written.
std::filesystem::path changed_by(const Folder& folder, const std::string& sql) {
  const auto path = folder / "optuna.db";
  must(write_optuna(path, std::vector{three_trials("s")}));
  const auto database = must(sqlite::open(path.string(), SQLITE_OPEN_READWRITE));
  must(sqlite::run(database.get(), sql.c_str()));
  return path;
}

TEST(Optuna, AChoiceOfNullIsTheTextNone) {
  const Folder folder;
  const auto path = changed_by(
      folder, R"(UPDATE trial_params SET param_value = 1, distribution_json = '{"name": )"
              R"("CategoricalDistribution", "attributes": {"choices": [10, null]}}' )"
              R"(WHERE param_name = 'op')");
  const auto trials = must(read_optuna(source_of(path)));
  EXPECT_EQ(trials[0].params[1], (std::pair<std::string, Value>("op", std::string("None"))));
}

TEST(Optuna, AChoiceBeyond63BitsKeepsItsSize) {
  const Folder folder;
  const auto path = changed_by(
      folder,
      R"(UPDATE trial_params SET param_value = 1, distribution_json = '{"name": )"
      R"("CategoricalDistribution", "attributes": {"choices": [10, 18446744073709551615]}}' )"
      R"(WHERE param_name = 'op')");
  const auto trials = must(read_optuna(source_of(path)));
  EXPECT_EQ(trials[0].params[1].second, Value(18446744073709551616.0));
}

// Frameworks count steps from 0. All trials are shifted alike, so that equal epochs stay equal.
TEST(Optuna, StepsFromZeroBecomeEpochsFromOne) {
  const Folder folder;
  const auto path =
      changed_by(folder, "UPDATE trial_intermediate_values SET step = step - 1 WHERE trial_id = 1");
  const auto trials = must(read_optuna(source_of(path)));
  EXPECT_EQ(trials[0].curve[0].epoch, 1);
  EXPECT_EQ(trials[0].curve[1].epoch, 2);
  EXPECT_EQ(trials[1].curve[0].epoch, 2) << "its step was 1";
}

TEST(Optuna, InfinitiesKeepTheirSigns) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Folder folder;
  auto study = three_trials("s");
  study.trials[1].curve = {{1, {{"val_accuracy", -kInfinity}}}, {2, {{"val_accuracy", kInfinity}}}};
  must(write_optuna(folder / "optuna.db", std::vector{study}));
  const auto curve = must(read_optuna(source_of(folder / "optuna.db")))[1].curve;
  EXPECT_EQ(curve.at(0).metrics.front().second, -kInfinity);
  EXPECT_EQ(curve.at(1).metrics.front().second, kInfinity);
}

TEST(Optuna, AFinalValueIsThatOfTheBestEpoch) {
  const Folder folder;
  auto study = three_trials("s");
  study.trials[0].curve[0].metrics[0].second = 0.9;  // of two epochs the first
  study.trials[0].best_epoch = 1;
  must(write_optuna(folder / "optuna.db", std::vector{study}));
  const auto database = must(sqlite::open((folder / "optuna.db").string(), SQLITE_OPEN_READONLY));
  auto row = must(sqlite::Statement::prepare(database.get(),
                                             "SELECT value FROM trial_values WHERE trial_id = 1"));
  ASSERT_TRUE(must(row.step()));
  EXPECT_EQ(row.real(0), 0.9);
}

TEST(Optuna, ARangeOfWholeNumbersKeepsItsStep) {
  const Folder folder;
  const Space space = SpaceBuilder().add_int("width", 16, 64, {.step = 16}).build().value();
  const OptunaStudy study{
      .name = "s",
      .objectives = {minimize("loss")},
      .space = space,
      .trials = {{.params = {{"width", std::int64_t{32}}}, .curve = {{1, {{"loss", 0.5}}}}}}};
  must(write_optuna(folder / "optuna.db", std::vector{study}));
  const auto database = must(sqlite::open((folder / "optuna.db").string(), SQLITE_OPEN_READONLY));
  auto row = must(sqlite::Statement::prepare(
      database.get(), "SELECT distribution_json->>'$.attributes.step' FROM trial_params"));
  ASSERT_TRUE(must(row.step()));
  EXPECT_EQ(row.integer(0), 16);
}

// Such a view would never end, and such a name fill the memory.
TEST(Optuna, ViewsInPlaceOfTablesAreRefusedAtOnce) {
  for (const std::string table : {"alembic_version", "studies", "trials", "TRIAL_PARAMS"}) {
    const Folder folder;
    const auto path = changed_by(
        folder, "DROP TABLE " + table + "; CREATE VIEW " + table +
                    " AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i "
                    "AS version_num, 'x' AS study_name, 1 AS study_id FROM n");
    const auto read = read_optuna(source_of(path));
    ASSERT_FALSE(read) << table;
    EXPECT_EQ(read.error().code, ErrorCode::kInput);
    EXPECT_NE(read.error().message.find(table + " is a view there"), std::string::npos)
        << read.error().message;
  }
}

TEST(Optuna, NamesOfManyMegabytesAreRefused) {
  const Folder folder;
  const auto path =
      changed_by(folder, "UPDATE studies SET study_name = printf('%.*c', 20000000, 'x')");
  const auto read = read_optuna(source_of(path));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kInput);
  EXPECT_LT(read.error().message.size(), 1000U);
}

TEST(Optuna, AKnowledgeBaseIsMerged) {
  OneStudy one;
  const auto read = read_optuna(source_of(one.path));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("detol db merge"), std::string::npos) << read.error().message;
}

TEST(Optuna, LeavesNothingBesideTheFile) {
  const Folder folder;
  must(write_optuna(folder / "optuna.db", std::vector{three_trials("s")}));
  EXPECT_EQ(folder.size(), 1U);
  auto broken = three_trials("s");
  broken.trials[0].params[0].second = 7.0;
  const auto refused = write_optuna(folder / "other.db", std::vector{broken});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the study's space has no lr = 7");
  EXPECT_EQ(folder.size(), 1U);
}

TEST(Optuna, ACompleteTrialWithoutANumberFails) {
  const Folder folder;
  auto study = three_trials("s");
  study.trials[0].curve[1].metrics[0].second = kNaN;
  must(write_optuna(folder / "optuna.db", std::vector{study}));
  EXPECT_EQ(must(read_optuna(source_of(folder / "optuna.db")))[0].state, TrialState::kFail);
}

TEST(Optuna, SeveralStudiesNeedAChoice) {
  const Folder folder;
  const auto path = folder / "optuna.db";
  must(write_optuna(path, std::vector{three_trials("one"), three_trials("two")}));
  EXPECT_EQ(read_optuna(source_of(path)).error().code, ErrorCode::kUsage);
  EXPECT_EQ(must(read_optuna(source_of(path, "two"))).size(), 3U);
  const auto unknown = read_optuna(source_of(path, "tow"));
  EXPECT_NE(unknown.error().message.find("did you mean 'two'?"), std::string::npos);
}

TEST(Optuna, RefusesOtherDirectionsAndOtherDatabases) {
  const Folder folder;
  const auto path = folder / "optuna.db";
  must(write_optuna(path, std::vector{three_trials("s")}));
  OptunaSource source = source_of(path);
  source.objectives = {minimize("val_loss")};
  const auto refused = read_optuna(source);
  EXPECT_EQ(refused.error().code, ErrorCode::kInput);
  EXPECT_NE(refused.error().message.find("its directions are MAXIMIZE"), std::string::npos);
  OneStudy ours;
  ours.ledger.reset();
  EXPECT_EQ(read_optuna(source_of(ours.path)).error().code, ErrorCode::kInput);
  std::ofstream(folder / "text.db") << "SQLite format 3";
  EXPECT_EQ(read_optuna(source_of(folder / "text.db")).error().code, ErrorCode::kInput);
}

TEST(Optuna, ADistributionIsNotNestedDeeperThanTheStack) {
  const Folder folder;
  const auto path = folder / "optuna.db";
  must(write_optuna(path, std::vector{three_trials("s")}));
  const std::string bomb(200'000, '[');
  const std::string end(200'000, ']');
  for (const std::string& text :
       {bomb, bomb + end, R"({"name": "FloatDistribution", "attributes": )" + bomb + end + "}",
        R"({"name": "CategoricalDistribution", "attributes": {"choices": [)" + bomb + end +
            "]}}"}) {
    {
      const auto database = must(sqlite::open(path.string(), SQLITE_OPEN_READWRITE));
      const std::string change = "UPDATE trial_params SET distribution_json = '" + text + "'";
      must(sqlite::run(database.get(), change.c_str()));
    }
    const auto refused = read_optuna(source_of(path));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("cannot be read"), std::string::npos);
  }
}

TEST(TrialHistories, HaveWhatTheEventsSay) {
  const std::vector<Event> events = {asked(0),
                                     started(0, 1),
                                     reported(0, 1, 1, 0.5),
                                     event::Requeued{0, 1, RequeueReason()},
                                     started(0, 2),
                                     reported(0, 2, 1, 0.5),
                                     reported(0, 2, 2, 0.75),
                                     complete(0, 0.75, 2),
                                     asked(1),
                                     started(1, 1),
                                     failed(1, Cause::kOutOfMemory),
                                     asked(2),
                                     complete(2, 0.75, 2),
                                     asked(3)};
  const auto trials = histories_of(events, std::vector{maximize("val_accuracy")});
  ASSERT_EQ(trials.size(), 4U);
  EXPECT_EQ(trials[0].state, TrialState::kComplete);
  EXPECT_EQ(trials[0].curve.size(), 2U);
  EXPECT_EQ(trials[0].started_s, 12);
  EXPECT_EQ(trials[1].failure, Cause::kOutOfMemory);
  ASSERT_EQ(trials[2].curve.size(), 1U);  // the outcome of an equal trial
  EXPECT_EQ(trials[2].curve[0].epoch, 2);
  EXPECT_EQ(trials[3].state, TrialState::kWaiting);
}

TEST(TrialHistories, AreTheSameAfterAnImport) {
  const std::vector objectives = {maximize("val_accuracy")};
  for (const TrialHistory& history : three_trials("s").trials) {
    const auto again = histories_of(events_of(asked(0), history, objectives), objectives);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].state, history.state);
    EXPECT_EQ(again[0].failure, history.failure);
    ASSERT_EQ(again[0].curve.size(), history.curve.size());
    EXPECT_EQ(again[0].curve.back().epoch, history.curve.back().epoch);
  }
}

TEST(TrialHistories, OfAPrunedTrialBecomeAnOutcomeThatWasStoppedEarly) {
  const std::vector objectives = {maximize("val_accuracy")};
  for (const TrialHistory& history : three_trials("s").trials) {
    const std::vector<Event> events = events_of(asked(0), history, objectives);
    const auto& outcome = std::get<event::Told>(events.back()).outcome;
    const auto* measured = std::get_if<Measured>(&outcome);
    ASSERT_EQ(measured == nullptr, history.state == TrialState::kFail);
    if (measured == nullptr) continue;
    EXPECT_EQ(measured->stopped_early, history.state == TrialState::kPruned);
    EXPECT_EQ(measured->fidelity, history.curve.size());
  }
}

TEST(AddStudy, IsAllOrNothing) {
  const Folder folder;
  const auto path = folder / "detol.db";
  must(Ledger::open(path));
  must(add_study(path, study_named("s"), std::vector<Event>{asked(0), complete(0, 0.5)}));
  const auto again = add_study(path, study_named("s"), std::vector<Event>{asked(0)});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kStudy);
  const auto reader = must(Reader::open(path));
  EXPECT_EQ(must(reader->events(must(reader->study("s")).id)).size(), 2U);
}

TEST(AddStudy, CompletesTheEmptyStudyOfAKilledProcess) {
  OneStudy empty;
  empty.ledger.reset();
  must(add_study(empty.path, study_named("s"), std::vector<Event>{asked(0)}));
  const auto reader = must(Reader::open(empty.path));
  EXPECT_EQ(must(reader->studies()).size(), 1U);
  EXPECT_EQ(must(reader->events(must(reader->study("s")).id)).size(), 1U);
}

}  // namespace
}  // namespace detol
