#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include <sqlite3.h>

#include "core/json_text.h"
#include "core/table.h"
#include "encodings/space/value_json.h"
#include "knowledge/exchange/optuna.h"
#include "knowledge/storage/page_checksums.h"
#include "knowledge/storage/scoped_limits.h"
#include "knowledge/storage/sqlite.h"

namespace detol::inline knowledge {
namespace {

using nlohmann::json;
using sqlite::Statement;

constexpr std::string_view kOldestRevision = "v3.0.0.d";

// What a file of unknown origin may cost.
constexpr std::int64_t kMostBytes = 512'000'000;
constexpr double kMostSeconds = 60;
constexpr int kLongestRow = 16'000'000;  // bytes; a name in it may have as many

Result<sqlite::Database> open_foreign(const std::filesystem::path& path) {
  DETOL_ASSIGN(auto database, sqlite::open(path.string(), SQLITE_OPEN_READONLY));
  sqlite::skip_verification(database.get());  // bytes that it reserves are no checksums of ours
  sqlite3_limit(database.get(), SQLITE_LIMIT_LENGTH, kLongestRow);
  return database;
}

double stored_value(const Statement& row, int value, int type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string_view word = row.text(type);
  if (word == "INF_POS") return kInfinity;
  if (word == "INF_NEG") return -kInfinity;
  return row.real(value);  // NULL, of a NAN: NaN
}

class OptunaReader {
 public:
  OptunaReader(const OptunaSource& source, sqlite3* database)
      : source_(source), database_(database) {}

  Result<std::vector<TrialHistory>> read() {
    DETOL_TRY(check_tables());
    DETOL_TRY(check_revision());
    DETOL_TRY(find_study());
    DETOL_TRY(check_directions());
    DETOL_TRY(read_trials());
    DETOL_TRY(shift_epochs());
    for (std::size_t i = 0; i < ids_.size(); ++i) DETOL_TRY(read_values(ids_[i], trials_[i]));
    return std::move(trials_);
  }

 private:
  tl::unexpected<Error> refuse(std::string_view place, std::string_view what) const {
    return fail(ErrorCode::kInput, fmt::format("{}: {}", place, what));
  }

  // Runs a query with the argument ?1 and visits its rows.
  template <typename Visit>
  Result<void> each(std::string_view sql, std::int64_t argument, const Visit& visit) {
    DETOL_ASSIGN(auto rows, Statement::prepare(database_, sql));
    if (sqlite3_bind_parameter_count(rows.raw()) > 0) rows.bind(1, argument);
    while (true) {
      const auto more = rows.step();
      if (!more && sqlite3_errcode(database_) == SQLITE_INTERRUPT)
        return refuse(source_.path.string(),
                      fmt::format("it takes more than {} s to read; export its trials to CSV, and "
                                  "import that",
                                  kMostSeconds));
      if (!more) return tl::unexpected(more.error());
      if (!*more) return {};
      DETOL_TRY(visit(rows));
    }
  }

  // Optuna has tables, whose rows are in the file. A view may have no end, and a virtual table do
  // anything.
  Result<void> check_tables() {
    constexpr std::string_view kNoTables =
        "SELECT type, name FROM sqlite_schema WHERE (type = 'view' OR rootpage = 0) AND "
        "lower(name) "
        "IN ('alembic_version', 'studies', 'study_directions', 'trials', 'trial_params', "
        "'trial_values', 'trial_intermediate_values')";
    return each(kNoTables, 0, [&](const Statement& row) -> Result<void> {
      return refuse(source_.path.string(),
                    fmt::format("it is no database of Optuna: {} is a {} there, no table",
                                row.text(1), row.text(0) == "view" ? "view" : "virtual table"));
    });
  }

  Result<void> check_revision() {
    std::string revision;
    const auto read = each("SELECT version_num FROM alembic_version", 0,
                           [&](const Statement& row) -> Result<void> {
                             revision = row.text(0);
                             return {};
                           });
    if (!read && Statement::prepare(database_, "SELECT study FROM v_studies"))
      return refuse(source_.path.string(),
                    "it is a knowledge base; `detol db merge` adds its studies");
    if (!read) return refuse(source_.path.string(), "it is no database of Optuna");
    if (revision >= kOldestRevision) return {};
    return refuse(source_.path.string(),
                  fmt::format("its schema is {}; run `optuna storage upgrade` on it first",
                              in_quotes(revision)));
  }

  Result<void> find_study() {
    std::vector<std::string> names;
    std::vector<std::int64_t> ids;
    DETOL_TRY(each("SELECT study_id, study_name FROM studies ORDER BY study_id", 0,
                   [&](const Statement& row) -> Result<void> {
                     ids.push_back(row.integer(0));
                     names.emplace_back(row.text(1));
                     return {};
                   }));
    if (names.empty()) return refuse(source_.path.string(), "it has no study");
    const std::vector<std::string_view> known(names.begin(), names.end());
    if (source_.study.empty() && names.size() > 1) {
      return fail(ErrorCode::kUsage, fmt::format("{} has several studies; choose one by --from: {}",
                                                 source_.path.string(), join(known)));
    }
    const auto at = source_.study.empty() ? names.begin() : std::ranges::find(names, source_.study);
    if (at == names.end())
      return fail(ErrorCode::kUsage, "--from: " + unknown_name("study", source_.study, known));
    study_ = ids[static_cast<std::size_t>(at - names.begin())];
    return {};
  }

  Result<void> check_directions() {
    std::vector<std::string> found;
    DETOL_TRY(each("SELECT direction FROM study_directions WHERE study_id = ?1 ORDER BY objective",
                   study_, [&](const Statement& row) -> Result<void> {
                     found.emplace_back(row.text(0));
                     return {};
                   }));
    const auto fits = [](const std::string& word, const Objective& objective) {
      return word == (objective.direction == Direction::kMinimize ? "MINIMIZE" : "MAXIMIZE");
    };
    if (std::ranges::equal(found, source_.objectives, fits)) return {};
    const std::vector<std::string_view> words(found.begin(), found.end());
    return refuse(source_.path.string(),
                  fmt::format("its directions are {}; give the space objectives with the same, in "
                              "their order",
                              join(words)));
  }

  Result<void> read_trials() {
    // Optuna stores local times without a zone.
    constexpr std::string_view kTrials =
        "SELECT trial_id, number, state, "
        "(julianday(datetime_start, 'utc') - 2440587.5) * 86400, "
        "(julianday(datetime_complete, 'utc') - 2440587.5) * 86400 "
        "FROM trials WHERE study_id = ?1 ORDER BY number, trial_id";
    return each(kTrials, study_, [&](const Statement& row) -> Result<void> {
      TrialHistory history;
      history.place = fmt::format("{}: trial {}", source_.path.string(), row.integer(1));
      const auto state = trial_state_from(row.text(2));
      if (!state)
        return refuse(history.place, fmt::format("unknown state {}", in_quotes(row.text(2))));
      history.state = *state;
      if (*state == TrialState::kFail) history.failure = Cause::kCrashed;
      if (const double start = row.real(3); start > 0) history.started_s = start;
      if (const double end = row.real(4); end > 0) history.finished_s = end;
      const std::int64_t id = row.integer(0);
      DETOL_TRY(read_params(id, history));
      DETOL_TRY(read_curve(id, history));
      ids_.push_back(id);
      trials_.push_back(std::move(history));
      return {};
    });
  }

  Result<void> read_params(std::int64_t trial, TrialHistory& history) {
    constexpr std::string_view kParams =
        "SELECT param_name, param_value, distribution_json FROM trial_params "
        "WHERE trial_id = ?1 ORDER BY param_id";
    return each(kParams, trial, [&](const Statement& row) -> Result<void> {
      const std::string name(row.text(0));
      const auto value = value_of(row.real(1), row.text(2));
      if (!value) return refuse(history.place, fmt::format("{} cannot be read", in_quotes(name)));
      history.params.emplace_back(name, *value);
      return {};
    });
  }

  // Optuna stores a number: the value, or the index of a choice.
  static std::optional<Value> value_of(double stored, std::string_view distribution) {
    const json form = json_or_discarded(distribution);
    if (!form.is_object() || !std::isfinite(stored)) return std::nullopt;
    const json name = form.value("name", json());
    constexpr double kLargestWhole = 9007199254740992;  // 2^53
    if (name == "FloatDistribution") return stored;
    if (name == "IntDistribution" && std::abs(stored) <= kLargestWhole)
      return static_cast<std::int64_t>(stored);
    if (name != "CategoricalDistribution" || stored < 0) return std::nullopt;
    const json attributes = form.value("attributes", json());
    if (!attributes.is_object()) return std::nullopt;
    const json choices = attributes.value("choices", json());
    if (!choices.is_array() || stored >= static_cast<double>(choices.size())) return std::nullopt;
    const json& choice = choices[static_cast<std::size_t>(stored)];
    if (choice.is_null()) return std::string("None");  // as `detol new --from` makes it
    return value_in_json(choice);
  }

  Result<void> read_curve(std::int64_t trial, TrialHistory& history) {
    constexpr std::string_view kCurve =
        "SELECT step, intermediate_value, intermediate_value_type FROM trial_intermediate_values "
        "WHERE trial_id = ?1 ORDER BY step";
    constexpr std::int64_t kMost = std::numeric_limits<int>::max() / 2;
    return each(kCurve, trial, [&](const Statement& row) -> Result<void> {
      const std::int64_t step = row.integer(0);
      if (step < -kMost || step > kMost)
        return refuse(history.place, fmt::format("step {} is too large for an epoch", step));
      history.curve.push_back(
          {static_cast<int>(step), {{source_.intermediate, stored_value(row, 1, 2)}}});
      return {};
    });
  }

  // Epochs count from 1: if any trial of the study has an earlier step, all are shifted.
  Result<void> shift_epochs() {
    int first = 1;
    for (const TrialHistory& trial : trials_) {
      if (!trial.curve.empty()) first = std::min(first, trial.curve.front().epoch);
    }
    for (TrialHistory& trial : trials_) {
      for (EpochMetrics& epoch : trial.curve) epoch.epoch += 1 - first;
    }
    return {};
  }

  Result<void> read_values(std::int64_t trial, TrialHistory& history) {
    constexpr std::string_view kValues =
        "SELECT objective, value, value_type FROM trial_values WHERE trial_id = ?1 "
        "ORDER BY objective";
    return each(kValues, trial, [&](const Statement& row) -> Result<void> {
      const auto index = static_cast<std::size_t>(row.integer(0));
      if (index >= source_.objectives.size())
        return refuse(history.place, "it has too many values");
      if (history.curve.empty()) history.curve.emplace_back();
      set_metric(history.curve.back(), source_.objectives[index].metric, stored_value(row, 1, 2));
      return {};
    });
  }

  const OptunaSource& source_;
  sqlite3* database_;
  std::int64_t study_ = 0;
  std::vector<std::int64_t> ids_;  // of trials_
  std::vector<TrialHistory> trials_;
};

}  // namespace

bool is_sqlite(const std::filesystem::path& file) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return false;
  std::array<char, kMagic.size()> bytes{};
  std::ifstream in(file, std::ios::binary);
  return in.read(bytes.data(), bytes.size()) &&
         std::string_view(bytes.data(), bytes.size()) == kMagic;
}

Result<std::vector<TrialHistory>> read_optuna(const OptunaSource& source) {
  auto read = [&]() -> Result<std::vector<TrialHistory>> {
    DETOL_ASSIGN(auto database, open_foreign(source.path));
    const sqlite::ScopedLimits limits(database.get(), kMostBytes, kMostSeconds);
    DETOL_TRY(sqlite::run(database.get(), "BEGIN"));  // one state of it, though Optuna may write
    return OptunaReader(source, database.get()).read();
  };
  return read().map_error([](Error error) {
    if (error.code == ErrorCode::kStorage) error.code = ErrorCode::kInput;
    return error;
  });
}

}  // namespace detol::inline knowledge
