#include <fmt/format.h>

#include <cmath>

#include "knowledge/query.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

using testing_support::asked;
using testing_support::complete;
using testing_support::describe;
using testing_support::failed;
using testing_support::Folder;
using testing_support::must;
using testing_support::OneStudy;
using testing_support::reported;
using testing_support::started;
using testing_support::study_named;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> lines(Reader& reader, const std::string& sql,
                               const std::vector<Cell>& arguments = {}) {
  std::vector<std::string> result;
  for (const auto& row : must(reader.select(sql, arguments)).rows) result.push_back(describe(row));
  return result;
}

using Lines = std::vector<std::string>;

// A study with a trial in every state.
struct Told : OneStudy {
  Told() {
    append({asked(0), started(0, 1), reported(0, 1, 1, 0.5), reported(0, 1, 2, 0.1 + 0.2),
            complete(0, 0.1 + 0.2, 2)});
    append({asked(1), started(1, 1), reported(1, 1, 1, kNaN), failed(1, Cause::kDiverged)});
    append({asked(2), started(2, 1), reported(2, 1, 1, 0.6),
            event::Requeued{2, 1, requeue_reason_from("worker lost")}});
    append({asked(3), started(3, 1), reported(3, 1, 1, 0.6),
            event::Requeued{3, 1, requeue_reason_from("worker lost")}, started(3, 2, "w2")});
    append({asked(4)});
    append({asked(5), event::Told{5,
                                  TrialState::kFail,
                                  {EndCause::kFailure, "9 GB"},
                                  Failed{Cause::kTooLarge, 0, 0},
                                  9}});
    append({asked(6), event::Told{6,
                                  TrialState::kPruned,
                                  {EndCause::kPruner, "asha"},
                                  Measured{{0.25}, 1, 1, true},
                                  9}});
  }
  std::unique_ptr<Reader> reader = must(Reader::open(path));
};

TEST(Reader, ATrialWhoseNetworkNobodyCouldCountHasNoSize) {
  OneStudy one;
  event::Asked refused = asked(0);
  refused.network_params.reset();
  refused.flops.reset();
  one.append({refused});
  const auto reader = must(Reader::open(one.path));
  const Rows rows = must(reader->select("SELECT params, flops FROM v_trials"));
  EXPECT_EQ(rows.rows.front(), (std::vector<Cell>{std::monostate(), std::monostate()}));
  const auto events = must(reader->events(1));
  EXPECT_FALSE(std::get<event::Asked>(events.at(0)).network_params);
}

TEST(Reader, HasTheDocumentedColumns) {
  Told told;
  struct View {
    std::string name;
    std::vector<std::string> columns;
  };
  const View views[] = {
      {"v_trials",
       {"study",
        "trial",
        "state",
        "failure",
        "reason",
        "algorithm",
        "arch_hash",
        "params",
        "flops",
        "epochs",
        "device_seconds",
        "started",
        "finished",
        "value",
        "values_json",
        "params_json",
        "started_at",
        "finished_at",
        "unreported_seconds",
        "feasible",
        "best_epoch",
        "inherits"}},
      {"v_params", {"study", "trial", "name", "value"}},
      {"v_metrics", {"study", "trial", "epoch", "name", "value", "step"}},
      {"v_studies",
       {"study", "state", "budget", "metric", "direction", "objectives_json", "created",
        "wall_seconds", "device_seconds", "dataset", "trials", "config", "created_at", "best",
        "best_trial"}},
      {"v_workers",
       {"study", "worker", "starts", "trials", "epochs", "device_seconds", "first_started",
        "last_started", "first_started_at", "last_started_at"}},
      {"v_datasets",
       {"dataset",
        "studies",
        "first_used",
        "last_used",
        "first_used_at",
        "last_used_at",
        "name",
        "path",
        "task",
        "shape",
        "samples",
        "classes",
        "bytes",
        "largest_class",
        "entropy",
        "zeros",
        "mean",
        "deviation",
        "skew",
        "intrinsic_dimension",
        "nearest_neighbour",
        "nearest_centroid",
        "ridge",
        "facts_json"}},
      {"v_models",
       {"study",   "model",      "trial",       "kind",           "state",       "failure",
        "reason",  "seed",       "epochs",      "trained_on",     "began_from",  "first",
        "params",  "flops",      "values_json", "intervals_json", "dataset",     "folder",
        "created", "created_at", "parent",      "settings",       "architecture"}},
      {"v_networks", {"arch_hash", "params", "flops", "graph"}},
      {"v_hosts",
       {"host", "name", "cpu", "cores", "memory_bytes", "gpus_json", "runs", "first_used_at",
        "last_used_at", "flops_per_second"}},
      {"v_runs",
       {"run", "study", "command", "started", "started_at", "version", "user", "host", "host_name",
        "backend", "workers"}},
  };
  for (const View& view : views)
    EXPECT_EQ(must(told.reader->select("SELECT * FROM " + view.name)).columns, view.columns);
}

TEST(Reader, AModelIsWhatItsLastEventSays) {
  OneStudy one;
  event::Model model{.model = 1, .trial = 0, .kind = ModelKind::kRetrained};
  event::Model other = model;
  other.model = 2;
  other.state = ModelState::kFailed;
  other.reason = "the loss is nan";
  one.append({asked(0), model});
  model.state = ModelState::kComplete;
  model.metrics = {{"test_accuracy", 0.75}};
  model.intervals = {{"test_accuracy", 0.7, 0.8}};
  other.parent = 1;
  other.settings = R"({"members":[0,1]})";
  other.architecture = R"([{"op":"input"}])";
  one.append({model, model, other});
  const auto reader = must(Reader::open(one.path));
  EXPECT_EQ(lines(*reader,
                  "SELECT model, trial, kind, state, reason, values_json->>'test_accuracy', "
                  "intervals_json->>'$.test_accuracy[1]', parent, settings->>'$.members[1]', "
                  "architecture->>'$[0].op' FROM v_models ORDER BY model"),
            (Lines{"1|0|retrained|COMPLETE||0.75|0.8|||",
                   "2|0|retrained|FAIL|the loss is nan|||1|1|input"}));
}

TEST(Reader, EventsAfterAnEventAreTheNewOnes) {
  Told told;
  const NewEvents all = must(told.reader->events_after(told.study, 0));
  EXPECT_EQ(all.events.size(), must(told.reader->events(told.study)).size());
  EXPECT_TRUE(must(told.reader->events_after(told.study, all.last)).events.empty());
  told.append({started(2, 2), event::Accounted{5, 7}});
  const NewEvents fresh = must(told.reader->events_after(told.study, all.last));
  ASSERT_EQ(fresh.events.size(), 2u);
  EXPECT_EQ(std::get<event::Started>(fresh.events[0]).trial, 2u);
  EXPECT_EQ(std::get<event::Accounted>(fresh.events[1]).device_s, 7);
  EXPECT_EQ(fresh.last, all.last + 1);
}

TEST(Reader, ShowsEachTrialInItsState) {
  Told told;
  EXPECT_EQ(
      lines(*told.reader, "SELECT trial, state, failure, reason, epochs FROM v_trials"),
      (Lines{"0|COMPLETE|||2", "1|FAIL|diverged||1", "2|WAITING||worker lost|1", "3|RUNNING|||1",
             "4|WAITING|||0", "5|FAIL|too_large|9 GB|0", "6|PRUNED||asha|0"}));
}

TEST(Reader, ATrialsValueIsItsMetricAtItsLastEpoch) {
  Told told;
  EXPECT_EQ(lines(*told.reader, "SELECT trial, value FROM v_trials"),
            (Lines{"0|0.30000000000000004", "1|", "2|0.6", "3|0.6", "4|", "5|", "6|0.25"}));
}

TEST(Reader, ValuesAreExactInJsonAndNanIsAString) {
  Told told;
  EXPECT_EQ(lines(*told.reader, "SELECT values_json FROM v_trials WHERE trial IN (0, 1, 4, 6)"),
            (Lines{R"({"val_accuracy":0.30000000000000004,"val_loss":0.7})",
                   R"({"val_accuracy":"NaN","val_loss":"NaN"})", "", R"({"val_accuracy":0.25})"}));
}

TEST(Reader, ShowsWhatATrialIsAndWhatItTook) {
  Told told;
  EXPECT_EQ(lines(*told.reader,
                  "SELECT study, algorithm, arch_hash, params, flops, device_seconds, started, "
                  "finished, params_json FROM v_trials WHERE trial IN (0, 3)"),
            (Lines{R"(s|evolution|00112233445566aa|4242|1000000|5|12|20|{"lr":0.1,"op":"conv"})",
                   R"(s|evolution|00112233445566aa|4242|1000000|2.5|12||{"lr":0.1,"op":"conv"})"}));
}

TEST(Reader, ANewerAttemptsReportReplacesTheOlderOnes) {
  OneStudy one;
  one.append({asked(0), started(0, 1), reported(0, 1, 1, 0.5), reported(0, 1, 2, 0.6),
              started(0, 2), reported(0, 2, 1, 0.7)});
  const auto reader = must(Reader::open(one.path));
  EXPECT_EQ(lines(*reader,
                  "SELECT epoch, value FROM v_metrics WHERE name = 'val_accuracy' ORDER BY epoch"),
            (Lines{"1|0.7", "2|0.6"}));
  EXPECT_EQ(lines(*reader, "SELECT epochs, value FROM v_trials"), (Lines{"1|0.7"}));
}

TEST(Reader, ShowsReportsInsideAnEpoch) {
  OneStudy one;
  event::Reported third = reported(0, 1, 0, 0.4), half = reported(0, 1, 0, 0.5);
  third.part = 0.25, third.step = 10;
  half.part = 0.5, half.step = 20;
  event::Reported again = half;
  again.attempt = 2;
  again.metrics[0].second = 0.75;
  event::Reported first = reported(1, 1, 1, 0.9);
  first.step = 40;
  one.append(
      {asked(0), started(0, 1), third, half, started(0, 2), again, asked(1), started(1, 1), first});
  const auto reader = must(Reader::open(one.path));
  EXPECT_EQ(lines(*reader,
                  "SELECT epoch, step, value FROM v_metrics WHERE name = 'val_accuracy' AND trial "
                  "= 0 ORDER BY epoch"),
            (Lines{"0.25|10|0.4", "0.5|20|0.75"}));
  EXPECT_EQ(lines(*reader, "SELECT epochs, value FROM v_trials"), (Lines{"0.5|0.75", "1|0.9"}));
  EXPECT_EQ(lines(*reader, "SELECT worker, epochs FROM v_workers"), (Lines{"w1|1"}));
}

TEST(Reader, ShowsParamsMetricsWorkersAndDatasets) {
  Told told;
  EXPECT_EQ(lines(*told.reader, "SELECT name, value FROM v_params WHERE trial = 0"),
            (Lines{"lr|0.1", "op|conv"}));
  EXPECT_EQ(lines(*told.reader,
                  "SELECT epoch, name, value FROM v_metrics WHERE trial = 0 ORDER BY epoch, name"),
            (Lines{"1|val_accuracy|0.5", "1|val_loss|0.5", "2|val_accuracy|0.30000000000000004",
                   "2|val_loss|0.7"}));
  EXPECT_EQ(lines(*told.reader, "SELECT worker, starts, trials, epochs FROM v_workers"),
            (Lines{"w1|4|4|5", "w2|1|1|0"}));
  EXPECT_EQ(lines(*told.reader, "SELECT dataset, studies FROM v_datasets"),
            (Lines{"fedcba9876543210|1"}));
  EXPECT_EQ(lines(*told.reader, "SELECT study, state, metric, direction, trials FROM v_studies"),
            (Lines{"s|RUNNING|val_accuracy|maximize|7"}));
}

TEST(Reader, NoViewWalksAWholeStudyForEachTrial) {
  Told told;
  for (const char* view : {"v_trials", "v_workers", "v_metrics", "v_params"}) {
    const auto plan =
        must(told.reader->select(fmt::format("EXPLAIN QUERY PLAN SELECT * FROM {}", view)));
    for (const auto& row : plan.rows) {
      const std::string step = std::get<std::string>(row.back());
      EXPECT_EQ(step.find("SEARCH r USING PRIMARY KEY"), std::string::npos) << view << ": " << step;
      EXPECT_EQ(step.find("SEARCH e USING PRIMARY KEY"), std::string::npos) << view << ": " << step;
    }
  }
}

TEST(Reader, BindsArguments) {
  Told told;
  EXPECT_EQ(lines(*told.reader, "SELECT ?1, ?2, ?3, ?4",
                  {std::int64_t{5}, 0.5, std::string("it's"), std::monostate{}}),
            (Lines{"5|0.5|it's|"}));
}

TEST(Reader, SeesWhatTheMasterAddsMeanwhile) {
  Told told;
  EXPECT_EQ(lines(*told.reader, "SELECT count(*) FROM v_trials"), (Lines{"7"}));
  told.append({asked(7)});
  EXPECT_EQ(lines(*told.reader, "SELECT count(*) FROM v_trials"), (Lines{"8"}));
  EXPECT_EQ(describe(must(told.reader->events(told.study))), describe(told.events()));
}

TEST(Reader, RefusesEverythingButOneSelect) {
  Told told;
  const std::string refused[] = {
      "",
      "  ; -- nothing",
      "SELEC 1",
      "SELECT 1; SELECT 2",
      "SELECT 1; DROP TABLE events",
      "DELETE FROM events",
      "INSERT INTO params VALUES (1, 1, 'a', 1)",
      "UPDATE progress SET state = 'DONE'",
      "CREATE TABLE t (a)",
      "PRAGMA user_version = 9",
      "PRAGMA journal_mode = DELETE",
      "ATTACH 'x.db' AS x",
      "VACUUM",
      "VACUUM INTO 'copy.db'",
      "BEGIN",
      "COMMIT",
      "SELECT load_extension('x')",
      "SELECT no_such_column FROM v_trials",
      "SELECT abs(-9223372036854775808)",
      "SELECT 1 LIMIT 'a'",
      std::string("SELECT 1\0 FROM v_trials", 22),
  };
  const std::size_t files = told.folder.size();
  for (const std::string& sql : refused) {
    const auto result = told.reader->select(sql);
    ASSERT_FALSE(result) << sql;
    EXPECT_EQ(result.error().code, ErrorCode::kUsage) << sql << ": " << result.error().message;
    EXPECT_EQ(result.error().message.find('\n'), std::string::npos) << sql;
  }
  EXPECT_EQ(told.folder.size(), files);
  EXPECT_EQ(lines(*told.reader, "SELECT 1; -- done \n ;"), (Lines{"1"}));
  EXPECT_EQ(lines(*told.reader,
                  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                  "WHERE i < 3) SELECT * FROM n"),
            (Lines{"1", "2", "3"}));
}

constexpr const char* kEndless =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT ";

TEST(Reader, AnAnswerIsCutAtTheLimitOfRows) {
  Told told;
  const Rows cut = must(told.reader->select(std::string(kEndless) + "i FROM n", {}, {.rows = 3}));
  EXPECT_EQ(cut.rows.size(), 3U);
  EXPECT_TRUE(cut.is_cut);
  const Rows whole = must(told.reader->select("SELECT trial FROM v_trials", {}, {.rows = 7}));
  EXPECT_EQ(whole.rows.size(), 7U);
  EXPECT_FALSE(whole.is_cut);
}

TEST(Reader, AQueryThatTakesMoreThanItMayIsRefusedAndTheNextOneIsNot) {
  Told told;
  struct Case {
    std::string sql;
    QueryLimits limits;
    std::string says;
  };
  for (const Case& query :
       {Case{"count(*) FROM n",
             {.seconds = 0.05},
             "more than 0.05 s; ask for less, or pass --timeout"},
        Case{"i FROM n",
             {.bytes = 1'000'000},
             "more than 1 MB of memory; ask for less, or pass --memory"},
        Case{"group_concat(i) FROM (SELECT i FROM n LIMIT 1000000)",
             {.bytes = 1'000'000},
             "--memory"},
        Case{"length(randomblob(900000000)) FROM n", {.bytes = 1'000'000}, "--memory"},
        Case{"i FROM n GROUP BY randomblob(1000)", {.bytes = 1'000'000, .seconds = 0.5}, "--"}}) {
    const auto refused = told.reader->select(kEndless + query.sql, {}, query.limits);
    ASSERT_FALSE(refused) << query.sql;
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage) << refused.error().message;
    EXPECT_NE(refused.error().message.find(query.says), std::string::npos)
        << refused.error().message;
    EXPECT_EQ(lines(*told.reader, "SELECT count(*) FROM v_trials"), (Lines{"7"}));
  }
  told.append({asked(7)});
}

TEST(Reader, ListsStudiesAndSuggestsNames) {
  Told told;
  must(told.ledger->create_study(study_named("fashion")));
  const auto studies = must(told.reader->studies());
  ASSERT_EQ(studies.size(), 2U);
  EXPECT_EQ(studies[1].name, "fashion");
  EXPECT_EQ(must(told.reader->study("s")).id, told.study);
  const auto missing = told.reader->study("fashon");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kStudy);
  EXPECT_NE(missing.error().message.find("did you mean 'fashion'?"), std::string::npos);
}

TEST(Reader, SaysWhatToDoWhenThereIsNoDatabase) {
  Folder folder;
  const auto reader = Reader::open(folder / "none.db");
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::kStudy);
  EXPECT_NE(reader.error().message.find("run `detol search`"), std::string::npos);
  EXPECT_EQ(folder.size(), 0U);
}

}  // namespace
}  // namespace detol
