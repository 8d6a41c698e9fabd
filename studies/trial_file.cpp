#include "studies/trial_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/json_text.h"
#include "core/log.h"
#include "core/table.h"
#include "core/utf8.h"
#include "encodings/space/value_json.h"
#include "trainer/data/formats/csv_open.h"

namespace detol::inline studies {
namespace {

using PlainJson = nlohmann::json;

tl::unexpected<Error> refuse(std::string_view place, std::string_view what) {
  return fail(ErrorCode::kInput, fmt::format("{}: {}", place, what));
}

// FileRow: one row of a CSV file, or one JSON object.
struct FileRow {
  std::string study, trial;
  std::string state, failure;
  TrialHistory history;
};

class TrialReader {
 public:
  TrialReader(const TrialFile& file, const StudyConfig& config) : file_(file), config_(config) {
    for (const std::string_view metric : metric_names(config)) metrics_.emplace(metric);
    for (const Objective& objective : config.objectives) metrics_.insert(objective.metric);
  }

  Result<std::vector<TrialHistory>> read(std::string_view bytes) {
    const std::size_t first = bytes.find_first_not_of(" \t\r\n");
    const char begin = first == std::string_view::npos ? ' ' : bytes[first];
    if (begin == '[')
      DETOL_TRY(read_array(bytes));
    else if (begin == '{')
      DETOL_TRY(read_lines(bytes));
    else
      DETOL_TRY(read_csv(bytes));
    if (!unknown_.empty()) {
      const std::vector<std::string_view> names(unknown_.begin(), unknown_.end());
      log_warning("{}: neither a parameter nor a metric of the space, left out: {}",
                  file_.path.string(), printable_excerpt(join(names)));
    }
    DETOL_TRY(check_studies());
    return std::move(trials_);
  }

 private:
  enum class Kind { kFixed, kParam, kMetric, kUnknown };
  struct FileColumn {
    Kind kind = Kind::kUnknown;
    std::string name;
  };

  // Returns what the column of that header has, as `db export` and Optuna's trials_dataframe() call
  // it.
  FileColumn known_column(std::string_view header) const {
    if (std::ranges::find(kTrialColumns, header) != kTrialColumns.end())
      return {Kind::kFixed, std::string(header)};
    for (const std::string_view prefix : {"", "params.", "params_"}) {
      if (!header.starts_with(prefix)) continue;
      const std::string name(header.substr(prefix.size()));
      if (config_.space.index_of(name)) return {Kind::kParam, name};
    }
    for (const std::string_view prefix : {"", "values.", "values_"}) {
      if (!header.starts_with(prefix)) continue;
      const std::string name(header.substr(prefix.size()));
      if (metrics_.contains(name)) return {Kind::kMetric, name};
      for (std::size_t i = 0; !prefix.empty() && i < config_.objectives.size(); ++i) {
        if (name == std::to_string(i)) return {Kind::kMetric, config_.objectives[i].metric};
      }
    }
    if (header == "value") return {Kind::kMetric, file_.metric};
    if (header == "number") return {Kind::kFixed, "trial"};
    return {};
  }

  FileColumn column_of(const std::string& header) {
    FileColumn column = known_column(header);
    if (column.kind == Kind::kUnknown) unknown_.insert(header);
    return column;
  }

  Result<void> read_csv(std::string_view bytes) {
    DETOL_ASSIGN(CsvReader text, CsvReader::of(file_.path, bytes));
    const auto fits = [&](std::span<const std::string> first) {
      return std::ranges::any_of(first, [&](const std::string& header) {
        return known_column(header).kind != Kind::kUnknown;
      });
    };
    DETOL_ASSIGN(OpenCsv opened, open_csv_like({}, CsvDialect{}, std::move(text), fits));
    for (const auto& remark : opened.remarks) log_info("{}: {}", file_.path.string(), remark);
    CsvReader& reader = opened.reader;
    decimal_ = opened.dialect.decimal;
    DETOL_ASSIGN(const bool has_header, reader.next());
    if (!has_header) return refuse(file_.path.string(), "it is empty; give it a header and rows");
    std::vector<FileColumn> columns;
    std::set<std::string> names;
    const ColumnNames headers(texts_of(reader.cells()));
    for (std::size_t i = 0; i < reader.cells().size(); ++i) {
      const CsvCell& cell = reader.cells()[i];
      columns.push_back(column_of(headers.all()[i]));
      const FileColumn& column = columns.back();
      const std::string key = fmt::format("{} {}", static_cast<int>(column.kind), column.name);
      if (column.kind != Kind::kUnknown && !names.insert(key).second)
        return reader.error_at(cell, "there are two columns of this name; leave one out");
    }
    while (true) {
      DETOL_ASSIGN(const bool more, reader.next());
      if (!more) return {};
      FileRow row;
      row.history.place = fmt::format("{}:{}", file_.path.string(), reader.cells().front().line);
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const CsvCell& cell = reader.cells()[i];
        if (!cell.text.empty()) DETOL_TRY(take(reader, cell, columns[i], row));
      }
      DETOL_TRY(add(std::move(row)));
    }
  }

  Result<void> take(const CsvReader& reader, const CsvCell& cell, const FileColumn& column,
                    FileRow& row) {
    const std::string text(cell.text);
    if (column.kind == Kind::kParam) {
      const Domain& domain = config_.space.domains()[*config_.space.index_of(column.name)];
      row.history.params.emplace_back(column.name, value_in(domain, text));
    } else if (column.kind == Kind::kMetric) {
      const auto number = number_in(text, decimal_);
      if (!number)
        return reader.error_at(
            cell, fmt::format("{} is {}; it must be a number", column.name, in_quotes(text)));
      set_metric(last_epoch(row.history), column.name, *number);
    } else if (column.name == "epoch") {
      const auto number = number_in(text);
      const bool is_epoch =
          number && *number >= 1 && *number <= kMostEpochs && *number == std::floor(*number);
      if (!is_epoch) return reader.error_at(cell, kNoEpoch);
      last_epoch(row.history).epoch = static_cast<int>(*number);
    } else if (column.kind == Kind::kFixed) {
      (column.name == "study"   ? row.study
       : column.name == "trial" ? row.trial
       : column.name == "state" ? row.state
                                : row.failure) = text;
    }
    return {};
  }

  // Returns the domain's value that a cell has; the text itself if there is none, for the message.
  Value value_in(const Domain& domain, const std::string& text) const {
    for (const Value& choice : domain.choices) {
      if (detol::to_text(choice) == text) return choice;
    }
    if (domain.kind == DomainKind::kBool) {
      if (text == "true" || text == "True" || text == "1") return true;
      if (text == "false" || text == "False" || text == "0") return false;
      return text;
    }
    const auto number = number_in(text, decimal_);
    return number ? Value(*number) : Value(text);
  }

  Result<void> read_array(std::string_view bytes) {
    DETOL_ASSIGN(const PlainJson array,
                 parse_json(bytes, file_.path.string() + ": it", {.bytes = bytes.size()}));
    for (std::size_t i = 0; i < array.size(); ++i)
      DETOL_TRY(read_object(array[i], fmt::format("{}: element {}", file_.path.string(), i)));
    return {};
  }

  Result<void> read_lines(std::string_view bytes) {
    for (int line = 1; !bytes.empty(); ++line) {
      const std::size_t end = std::min(bytes.find('\n'), bytes.size());
      const std::string_view text = bytes.substr(0, end);
      bytes.remove_prefix(std::min(end + 1, bytes.size()));
      if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      const std::string place = fmt::format("{}:{}", file_.path.string(), line);
      DETOL_ASSIGN(const PlainJson object, parse_json(text, place + ": it"));
      DETOL_TRY(read_object(object, place));
    }
    return {};
  }

  Result<void> read_object(const PlainJson& object, const std::string& place) {
    if (!object.is_object()) return refuse(place, "it is no JSON object");
    FileRow row;
    row.history.place = place;
    for (const auto& [key, value] : object.items()) {
      std::string* const text = key == "study"     ? &row.study
                                : key == "state"   ? &row.state
                                : key == "failure" ? &row.failure
                                                   : nullptr;
      if (!object.contains("params") && config_.space.index_of(key))
        return refuse(place, fmt::format("{} must stand in \"params\": {{...}}", in_quotes(key)));
      if (value.is_null()) continue;
      if (text != nullptr && !value.is_string())
        return refuse(place, fmt::format("{} must be text", key));
      if (text != nullptr) *text = value.get<std::string>();
      if (key == "params") DETOL_TRY(take_params(value, row.history));
      if (key == "curve") DETOL_TRY(take_curve(value, row.history));
    }
    DETOL_TRY(take_best_epoch(object, row.history));
    DETOL_TRY(take_values(object, row.history));  // behind the curve, of which they are a part
    return add(std::move(row));
  }

  Result<void> take_params(const PlainJson& params, TrialHistory& history) {
    if (!params.is_object()) return refuse(history.place, "params must be an object");
    for (const auto& [name, value] : params.items()) {
      if (value.is_null() && is_none_a_choice(name))
        history.params.emplace_back(name, std::string("None"));
      if (value.is_null()) continue;
      auto read = value_in_json(value);
      if (!config_.space.index_of(name))
        unknown_.insert(name);
      else if (read)
        history.params.emplace_back(name, *std::move(read));
      else
        return refuse(history.place, fmt::format("{} must be text, a number or a bool", name));
    }
    return {};
  }

  // Returns true for a parameter that is always active and has the text None among its choices:
  // then a null is that choice.
  bool is_none_a_choice(const std::string& name) const {
    const auto index = config_.space.index_of(name);
    if (!index) return false;
    const Domain& domain = config_.space.domains()[*index];
    return !domain.when &&
           std::ranges::find(domain.choices, Value(std::string("None"))) != domain.choices.end();
  }

  static bool is_huge(const PlainJson& value) {
    return value.is_number_unsigned() &&
           value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max();
  }

  Result<void> take_curve(const PlainJson& curve, TrialHistory& history) {
    if (!curve.is_array()) return refuse(history.place, "curve must be an array of objects");
    for (const PlainJson& epoch : curve) {
      const PlainJson number = epoch.is_object() ? epoch.value("epoch", PlainJson()) : PlainJson();
      const bool is_epoch = number.is_number_integer() && !is_huge(number) &&
                            number.get<std::int64_t>() >= 1 &&
                            number.get<std::int64_t>() <= kMostEpochs;
      if (!is_epoch) return refuse(history.place, kNoEpoch);
      const int at = number.get<int>();
      if (!history.curve.empty() && at <= history.curve.back().epoch)
        return refuse(history.place, "the epochs of a curve must grow");
      history.curve.push_back({at, {}});
      for (const auto& [name, value] : epoch.items()) {
        if (name != "epoch") DETOL_TRY(take_metric(name, value, history));
      }
    }
    return {};
  }

  Result<void> take_best_epoch(const PlainJson& object, TrialHistory& history) {
    if (!object.contains("best_epoch") || object.at("best_epoch").is_null()) return {};
    const PlainJson& number = object.at("best_epoch");
    const bool is_whole = number.is_number_integer() && !is_huge(number);
    const std::int64_t best = is_whole ? number.get<std::int64_t>() : 0;
    const auto found = std::ranges::find(history.curve, best, &EpochMetrics::epoch);
    if (found == history.curve.end())
      return refuse(history.place, "best_epoch must be an epoch of the curve");
    history.best_epoch = found->epoch;
    return {};
  }

  Result<void> take_values(const PlainJson& object, TrialHistory& history) {
    if (object.contains("value") && !object.at("value").is_null())
      DETOL_TRY(take_metric(file_.metric, object.at("value"), history));
    const PlainJson values = object.value("values", PlainJson());
    if (values.is_null()) return {};
    if (!values.is_object())
      return refuse(history.place, "values must be an object of metrics and numbers");
    for (const auto& [name, value] : values.items()) DETOL_TRY(take_metric(name, value, history));
    return {};
  }

  // Sets a metric of the epoch with the final values.
  Result<void> take_metric(const std::string& name, const PlainJson& value, TrialHistory& history) {
    if (value.is_null()) return {};
    if (!metrics_.contains(name)) {
      unknown_.insert(name);
      return {};
    }
    const auto number = value.is_number()   ? std::optional(value.get<double>())
                        : value.is_string() ? number_in(value.get<std::string>())
                                            : std::nullopt;
    if (!number) return refuse(history.place, fmt::format("{} must be a number", name));
    set_metric(value_epoch(history), name, *number);
    return {};
  }

  static EpochMetrics& value_epoch(TrialHistory& history) {
    const auto found = std::ranges::find(history.curve, history.best_epoch, &EpochMetrics::epoch);
    return history.best_epoch == 0 || found == history.curve.end() ? last_epoch(history) : *found;
  }

  static EpochMetrics& last_epoch(TrialHistory& history) {
    if (history.curve.empty()) history.curve.emplace_back();
    return history.curve.back();
  }

  // Adds a row: a trial of its own, or another epoch of one.
  Result<void> add(FileRow row) {
    if (!row.study.empty()) studies_.insert(row.study);
    if (!file_.from.empty() && row.study != file_.from) return {};
    DETOL_TRY(take_state(row));
    if (!row.history.curve.empty() && row.history.curve.back().metrics.empty())
      row.history.curve.pop_back();  // an epoch without a number, as of a refused trial
    const auto number = std::pair(row.study, row.trial);
    const auto known = by_number_.find(number);
    if (row.trial.empty() || known == by_number_.end()) {
      if (!row.trial.empty()) by_number_.emplace(number, trials_.size());
      trials_.push_back(std::move(row.history));
      return {};
    }
    TrialHistory& trial = trials_[known->second];
    const std::string& place = row.history.place;
    if (trial.params != row.history.params)
      return refuse(place, fmt::format("trial {} has other parameters than in {}",
                                       in_quotes(row.trial), trial.place));
    if (!row.state.empty() || !row.failure.empty()) {
      trial.state = row.history.state;
      trial.failure = row.history.failure;
    }
    if (row.history.curve.empty()) return {};
    const int epoch = row.history.curve.front().epoch;
    if (epoch == 0 || (!trial.curve.empty() &&
                       (trial.curve.back().epoch == 0 || epoch <= trial.curve.back().epoch)))
      return refuse(place, fmt::format("trial {} is there twice; number its rows by a growing "
                                       "`epoch`, or its trials by different `trial`",
                                       in_quotes(row.trial)));
    trial.curve.push_back(std::move(row.history.curve.front()));
    return {};
  }

  Result<void> take_state(FileRow& row) {
    if (!row.failure.empty()) {
      row.history.failure = cause_from(row.failure);
      if (!row.history.failure)
        return refuse(row.history.place,
                      fmt::format("failure is {}; it must be diverged, oom, too_large, timeout, "
                                  "crashed or invalid",
                                  in_quotes(row.failure)));
      row.history.state = TrialState::kFail;
    }
    if (row.state.empty()) return {};
    const auto state = trial_state_from(row.state);
    if (!state) return refuse(row.history.place, unknown_name("state", row.state, kTrialStates));
    row.history.state = *state;
    return {};
  }

  Result<void> check_studies() const {
    const std::vector<std::string_view> names(studies_.begin(), studies_.end());
    if (!file_.from.empty() && !studies_.contains(file_.from))
      return fail(ErrorCode::kUsage, "--from: " + unknown_name("study", file_.from, names));
    if (!file_.from.empty() || names.size() < 2) return {};
    return fail(ErrorCode::kUsage, fmt::format("{} has several studies; choose one by --from: {}",
                                               file_.path.string(), in_quotes(join(names))));
  }

  static constexpr int kMostEpochs = 1'000'000'000;
  static constexpr std::string_view kNoEpoch = "an epoch must be a whole number from 1";

  const TrialFile& file_;
  const StudyConfig& config_;
  char decimal_ = '.';  // of a CSV file
  std::set<std::string, std::less<>> metrics_, unknown_, studies_;
  std::map<std::pair<std::string, std::string>, std::size_t> by_number_;  // of study and trial
  std::vector<TrialHistory> trials_;
};

}  // namespace

Result<std::vector<TrialHistory>> read_trial_file(const TrialFile& file, std::string_view bytes,
                                                  const StudyConfig& config) {
  return TrialReader(file, config).read(bytes);
}

}  // namespace detol::inline studies
