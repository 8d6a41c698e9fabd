#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include <sqlite3.h>

#include "core/durable_file.h"
#include "core/json_text.h"
#include "encodings/space/value_json.h"
#include "knowledge/exchange/optuna.h"
#include "knowledge/storage/file_system.h"
#include "knowledge/storage/sqlite.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using sqlite::Statement;

constexpr const char* kOptunaSchema = R"sql(
BEGIN;
CREATE TABLE alembic_version (
  version_num VARCHAR(32) NOT NULL,
  CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num));
INSERT INTO alembic_version VALUES ('v3.2.0.a');
CREATE TABLE version_info (
  version_info_id INTEGER NOT NULL PRIMARY KEY CHECK (version_info_id = 1),
  schema_version INTEGER, library_version VARCHAR(256));
INSERT INTO version_info VALUES (1, 12, '3.2.0');
CREATE TABLE studies (
  study_id INTEGER NOT NULL PRIMARY KEY, study_name VARCHAR(512) NOT NULL);
CREATE UNIQUE INDEX ix_studies_study_name ON studies (study_name);
CREATE TABLE study_directions (
  study_direction_id INTEGER NOT NULL PRIMARY KEY, direction VARCHAR(8) NOT NULL,
  study_id INTEGER NOT NULL REFERENCES studies (study_id), objective INTEGER NOT NULL,
  UNIQUE (study_id, objective));
CREATE TABLE study_user_attributes (
  study_user_attribute_id INTEGER NOT NULL PRIMARY KEY,
  study_id INTEGER REFERENCES studies (study_id), "key" VARCHAR(512), value_json TEXT,
  UNIQUE (study_id, "key"));
CREATE TABLE study_system_attributes (
  study_system_attribute_id INTEGER NOT NULL PRIMARY KEY,
  study_id INTEGER REFERENCES studies (study_id), "key" VARCHAR(512), value_json TEXT,
  UNIQUE (study_id, "key"));
CREATE TABLE trials (
  trial_id INTEGER NOT NULL PRIMARY KEY, number INTEGER,
  study_id INTEGER REFERENCES studies (study_id), state VARCHAR(8) NOT NULL,
  datetime_start DATETIME, datetime_complete DATETIME);
CREATE INDEX ix_trials_study_id ON trials (study_id);
CREATE TABLE trial_user_attributes (
  trial_user_attribute_id INTEGER NOT NULL PRIMARY KEY,
  trial_id INTEGER REFERENCES trials (trial_id), "key" VARCHAR(512), value_json TEXT,
  UNIQUE (trial_id, "key"));
CREATE TABLE trial_system_attributes (
  trial_system_attribute_id INTEGER NOT NULL PRIMARY KEY,
  trial_id INTEGER REFERENCES trials (trial_id), "key" VARCHAR(512), value_json TEXT,
  UNIQUE (trial_id, "key"));
CREATE TABLE trial_params (
  param_id INTEGER NOT NULL PRIMARY KEY, trial_id INTEGER REFERENCES trials (trial_id),
  param_name VARCHAR(512), param_value FLOAT, distribution_json TEXT,
  UNIQUE (trial_id, param_name));
CREATE TABLE trial_values (
  trial_value_id INTEGER NOT NULL PRIMARY KEY,
  trial_id INTEGER NOT NULL REFERENCES trials (trial_id), objective INTEGER NOT NULL,
  value FLOAT, value_type VARCHAR(7) NOT NULL, UNIQUE (trial_id, objective));
CREATE TABLE trial_intermediate_values (
  trial_intermediate_value_id INTEGER NOT NULL PRIMARY KEY,
  trial_id INTEGER NOT NULL REFERENCES trials (trial_id), step INTEGER NOT NULL,
  intermediate_value FLOAT, intermediate_value_type VARCHAR(7) NOT NULL,
  UNIQUE (trial_id, step));
CREATE TABLE trial_heartbeats (
  trial_heartbeat_id INTEGER NOT NULL PRIMARY KEY,
  trial_id INTEGER NOT NULL UNIQUE REFERENCES trials (trial_id), heartbeat DATETIME NOT NULL);
)sql";

// The column `value_type` of a value; FINITE where the number itself is stored.
std::string_view value_type_of(double value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INF_POS" : "INF_NEG";
  return "FINITE";
}

// Optuna accepts a step only where there is no log.
std::string distribution_of(const Domain& domain) {
  json attributes;
  std::string_view name = "CategoricalDistribution";
  switch (domain.kind) {
    case DomainKind::kBool:
      attributes["choices"] = {false, true};
      break;
    case DomainKind::kCategorical:
      attributes["choices"] = json::array();
      for (const Value& choice : domain.choices)
        attributes["choices"].push_back(json_value(choice));
      break;
    case DomainKind::kInt:
      name = "IntDistribution";
      attributes = {
          {"log", domain.log},
          {"low", static_cast<std::int64_t>(domain.low)},
          {"high", static_cast<std::int64_t>(domain.high)},
          {"step", domain.log || domain.step < 1 ? std::int64_t{1}
                                                 : static_cast<std::int64_t>(domain.step)}};
      break;
    case DomainKind::kFloat:
      name = "FloatDistribution";
      attributes = {{"log", domain.log}, {"low", domain.low}, {"high", domain.high}};
      attributes["step"] = domain.step > 0 && !domain.log ? json(domain.step) : json();
      break;
  }
  return compact(json{{"name", name}, {"attributes", attributes}});
}

class OptunaWriter {
 public:
  static Result<OptunaWriter> make(sqlite3* database) {
    OptunaWriter writer;
    struct Entry {
      Statement& statement;
      std::string_view sql;
    };
    // A time of milliseconds is written in six digits, which every reader understands.
    const Entry entries[] = {
        {writer.add_study_, "INSERT INTO studies VALUES (?1, ?2)"},
        {writer.add_direction_, "INSERT INTO study_directions VALUES (NULL, ?1, ?2, ?3)"},
        {writer.add_names_,
         "INSERT INTO study_system_attributes VALUES (NULL, ?1, 'study:metric_names', ?2)"},
        {writer.add_trial_,
         "INSERT INTO trials VALUES (?1, ?2, ?3, ?4, "
         "strftime('%Y-%m-%d %H:%M:%f000', ?5, 'unixepoch', 'localtime'), "
         "strftime('%Y-%m-%d %H:%M:%f000', ?6, 'unixepoch', 'localtime'))"},
        {writer.add_param_, "INSERT INTO trial_params VALUES (NULL, ?1, ?2, ?3, ?4)"},
        {writer.add_value_, "INSERT INTO trial_values VALUES (NULL, ?1, ?2, ?3, ?4)"},
        {writer.add_step_, "INSERT INTO trial_intermediate_values VALUES (NULL, ?1, ?2, ?3, ?4)"},
    };
    for (const Entry& entry : entries) {
      DETOL_ASSIGN(entry.statement, Statement::prepare(database, entry.sql));
    }
    return writer;
  }

  Result<void> add(const OptunaStudy& study) {
    ++study_;
    add_study_.bind(1, study_);
    add_study_.bind(2, std::string_view(study.name));
    DETOL_TRY(add_study_.run());
    json names = json::array();
    for (std::size_t i = 0; i < study.objectives.size(); ++i) {
      const bool is_min = study.objectives[i].direction == Direction::kMinimize;
      add_direction_.bind(1, std::string_view(is_min ? "MINIMIZE" : "MAXIMIZE"));
      add_direction_.bind(2, study_);
      add_direction_.bind(3, static_cast<std::int64_t>(i));
      DETOL_TRY(add_direction_.run());
      names.push_back(study.objectives[i].metric);
    }
    const std::string names_json = compact(names);
    add_names_.bind(1, study_);
    add_names_.bind(2, std::string_view(names_json));
    DETOL_TRY(add_names_.run());
    distributions_.clear();
    for (const Domain& domain : study.space.domains())
      distributions_.push_back(distribution_of(domain));
    for (std::size_t i = 0; i < study.trials.size(); ++i) DETOL_TRY(add_trial(study, i));
    return {};
  }

 private:
  Result<void> add_trial(const OptunaStudy& study, std::size_t number) {
    const TrialHistory& history = study.trials[number];
    const std::vector<double> values = values_of(study, history);
    const bool is_broken = history.state == TrialState::kComplete && values.empty();
    const TrialState state = is_broken ? TrialState::kFail : history.state;
    ++trial_;
    add_trial_.bind(1, trial_);
    add_trial_.bind(2, static_cast<std::int64_t>(number));
    add_trial_.bind(3, study_);
    add_trial_.bind(4, to_text(state));
    bind_time(5, history.started_s);
    bind_time(6, history.finished_s);
    DETOL_TRY(add_trial_.run());
    DETOL_TRY(add_params(study.space, history));
    DETOL_TRY(add_curve(study.objectives.front().metric, history));
    if (state != TrialState::kComplete && state != TrialState::kPruned) return {};
    for (std::size_t i = 0; i < values.size(); ++i)
      DETOL_TRY(add_number(add_value_, static_cast<std::int64_t>(i), values[i]));
    return {};
  }

  void bind_time(int index, double seconds) {
    if (seconds > 0)
      add_trial_.bind(index, seconds);
    else
      add_trial_.bind_null(index);
  }

  // Returns the final value of each objective; none if one is missing or NaN.
  static std::vector<double> values_of(const OptunaStudy& study, const TrialHistory& history) {
    std::vector<double> values;
    if (history.curve.empty()) return values;
    for (const Objective& objective : study.objectives) {
      for (const auto& [name, value] : final_epoch(history).metrics) {
        if (name == objective.metric && !std::isnan(value)) values.push_back(value);
      }
    }
    if (values.size() != study.objectives.size()) values.clear();
    return values;
  }

  Result<void> add_params(const Space& space, const TrialHistory& history) {
    for (const auto& [name, value] : history.params) {
      const auto index = space.index_of(name);
      const auto code = index ? space.domains()[*index].code_of(value) : std::nullopt;
      if (!code) {
        return fail(ErrorCode::kInput,
                    fmt::format("the study's space has no {} = {}", name, detol::to_text(value)));
      }
      add_param_.bind(1, trial_);
      add_param_.bind(2, std::string_view(name));
      add_param_.bind(3, *code);
      add_param_.bind(4, std::string_view(distributions_[*index]));
      DETOL_TRY(add_param_.run());
    }
    return {};
  }

  Result<void> add_curve(const std::string& metric, const TrialHistory& history) {
    for (const EpochMetrics& epoch : history.curve) {
      for (const auto& [name, value] : epoch.metrics) {
        if (name == metric) DETOL_TRY(add_number(add_step_, epoch.epoch, value));
      }
    }
    return {};
  }

  Result<void> add_number(Statement& statement, std::int64_t index, double value) {
    statement.bind(1, trial_);
    statement.bind(2, index);
    if (std::isfinite(value))
      statement.bind(3, value);
    else
      statement.bind_null(3);
    statement.bind(4, value_type_of(value));
    return statement.run();
  }

  std::int64_t study_ = 0;
  std::int64_t trial_ = 0;
  std::vector<std::string> distributions_;  // by domain
  Statement add_study_, add_direction_, add_names_, add_trial_, add_param_, add_value_, add_step_;
};

Result<void> fill_optuna(const fs::path& path, std::span<const OptunaStudy> studies) {
  DETOL_ASSIGN(auto database, sqlite::open(path.string(), SQLITE_OPEN_READWRITE));
  DETOL_TRY(sqlite::run(database.get(), kOptunaSchema));
  {
    DETOL_ASSIGN(auto writer, OptunaWriter::make(database.get()));
    for (const OptunaStudy& study : studies) DETOL_TRY(writer.add(study));
  }
  return sqlite::run(database.get(), "COMMIT");
}

}  // namespace

Result<void> write_optuna(const fs::path& path, std::span<const OptunaStudy> studies) {
  DETOL_ASSIGN(const fs::path fresh,
               create_beside(path).map([](const FreshFile& empty) { return empty.path; }));
  auto done = fill_optuna(fresh, studies);
  if (done) done = rename_durably(fresh, path);
  std::error_code ignored;
  if (!done) fs::remove(fresh, ignored);
  return done;
}

}  // namespace detol::inline knowledge
