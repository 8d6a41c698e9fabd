#include "trainer/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "core/table.h"
#include "trainer/data/formats/csv_open.h"
#include "trainer/data/formats/files.h"
#include "trainer/one_epoch.h"

namespace detol::inline trainer {
namespace {

constexpr char kBetween = '\x1f';  // separates the cells of a key

// Returns the same text for two notations of one value. Whole numbers, such as ids, keep all of
// their digits.
std::string plain_form(std::string_view text) {
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error == std::errc() && end == text.data() + text.size()) return fmt::format("{}", whole);
  if (const auto number = number_in(text)) {
    const bool is_whole = *number == std::floor(*number) && std::abs(*number) < 0x1p53;
    return is_whole ? fmt::format("{}", static_cast<std::int64_t>(*number))
                    : fmt::format("{:.12g}", *number);
  }
  for (const char* word : {"true", "false"}) {
    if (std::ranges::equal(text, std::string_view(word), {}, [](char c) {
          return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }))
      return word;
  }
  return std::string(text);
}

std::string joined(std::span<const std::string> key) {
  std::string all;
  for (const std::string& text : key) all += plain_form(text) + kBetween;
  return all;
}

// Positions of the columns in a record.
struct Columns {
  std::vector<std::size_t> key, metrics;
  std::optional<std::size_t> cost;
};

class TableReader {
 public:
  TableReader(const TableConfig& config, OpenCsv file)
      : config_(config), file_(std::move(file.reader)), decimal_(file.dialect.decimal) {}

  Result<void> read_header() {
    DETOL_ASSIGN(const bool any, file_.next());
    if (!any) return file_.error_at({}, "the file is empty; its first line names the columns");
    header_ = texts_of(file_.cells());
    for (const KeyColumn& one : config_.key) {
      DETOL_ASSIGN(columns_.key.emplace_back(), position_of(one.column, "table.key"));
    }
    for (const MetricColumn& one : config_.metrics) {
      DETOL_ASSIGN(columns_.metrics.emplace_back(), position_of(one.column, "table.metrics"));
    }
    if (!config_.cost.empty()) {
      DETOL_ASSIGN(columns_.cost, position_of(config_.cost, "table.cost"));
    }
    return {};
  }

  // Reads the next row of the file; returns false at the end.
  Result<bool> next() {
    DETOL_ASSIGN(const bool any, file_.next());
    if (!any) return false;
    std::vector<std::string> key;
    for (const std::size_t column : columns_.key) {
      const std::string_view text = file_.cells()[column].text;
      const auto number = decimal_ == '.' ? std::nullopt : number_in(text, decimal_);
      key.push_back(number ? fmt::format("{}", *number) : std::string(text));
    }
    key_ = joined(key);
    row_ = {};
    for (const std::size_t column : columns_.metrics) {
      DETOL_ASSIGN(row_.metrics.emplace_back(), number_at(column));
    }
    if (!columns_.cost) return true;
    DETOL_ASSIGN(row_.work, number_at(*columns_.cost));
    if (row_.work >= 0 && std::isfinite(row_.work)) return true;
    return file_.error_at(file_.cells()[*columns_.cost], "a cost must be a number of at least 0");
  }

  const std::string& key() const { return key_; }
  Table::Row& row() { return row_; }
  int line() const { return file_.cells().front().line; }

  tl::unexpected<Error> key_error(std::string_view what) const {
    return file_.error_at(file_.cells()[columns_.key.front()], what);
  }

 private:
  Result<std::size_t> position_of(const std::string& column, std::string_view asked_by) const {
    const ColumnNames names(header_);
    const auto found = names.find(column);
    const CsvCell top{};
    if (!found) return file_.error_at(top, fmt::format("{}: {}", asked_by, names.unknown(column)));
    if (std::ranges::count(header_, column) > 1)
      return file_.error_at(top, fmt::format("two columns are called {}", in_quotes(column)));
    return *found;
  }

  Result<double> number_at(std::size_t column) const {
    const CsvCell& cell = file_.cells()[column];
    if (const auto number = number_in(cell.text, decimal_)) return *number;
    return file_.error_at(
        cell, fmt::format("{} is no number ({})", in_quotes(cell.text), header_[column]));
  }

  const TableConfig& config_;
  CsvReader file_;
  const char decimal_;
  std::vector<std::string> header_;
  Columns columns_;
  std::string key_;
  Table::Row row_;
};

// Opens the file: by commas if its first line then has the columns, else as it is found to be
// written.
Result<OpenCsv> open_table(const TableConfig& config) {
  DETOL_ASSIGN(CsvReader reader, CsvReader::open(config.path));
  const auto fits = [&](std::span<const std::string> first) {
    const ColumnNames names(first);
    const auto is_there = [&](const auto& one) { return names.find(one.column).has_value(); };
    return std::ranges::all_of(config.key, is_there) &&
           std::ranges::all_of(config.metrics, is_there);
  };
  return open_csv_like({}, CsvDialect{}, std::move(reader), fits);
}

// Lookup finds the rows of a study's candidates.
class Lookup {
 public:
  static Result<Lookup> of(const StudyConfig& config) {
    DETOL_ASSIGN(Table table, Table::load(*config.table));
    return Lookup(config, std::make_shared<const Table>(std::move(table)));
  }

  tl::expected<const Table::Row*, StudyConfig::Refused> row(const Genome& genome) const {
    const std::vector<std::string> key = config_.table_key(genome);
    if (const Table::Row* row = table_->find(key)) return row;
    std::string text;
    for (std::size_t i = 0; i < key.size(); ++i)
      text += fmt::format("{}{} = {}", i == 0 ? "" : ", ", config_.table->key[i].column, key[i]);
    return tl::unexpected(
        StudyConfig::Refused{Cause::kInvalid, "not in the table: " + std::move(text)});
  }

  EpochReport report_of(const Table::Row& row) const {
    EpochReport report{.metrics = {}, .work = row.work};
    for (std::size_t i = 0; i < row.metrics.size(); ++i)
      report.metrics.push_back({config_.table->metrics[i].metric, row.metrics[i]});
    return report;
  }

 private:
  Lookup(StudyConfig config, std::shared_ptr<const Table> table)
      : config_(std::move(config)), table_(std::move(table)) {}

  StudyConfig config_;
  std::shared_ptr<const Table> table_;
};

}  // namespace

Result<Table> Table::load(const TableConfig& config) {
  DETOL_TRY(find_data(config.path, config.source));
  DETOL_ASSIGN(OpenCsv file, open_table(config));
  Table table;
  table.fingerprint_ = file.reader.fingerprint();
  TableReader reader(config, std::move(file));
  DETOL_TRY(reader.read_header());
  std::unordered_map<std::string, int> lines;
  for (;;) {
    DETOL_ASSIGN(const bool any, reader.next());
    if (!any) return table;
    const auto [first, is_new] = lines.try_emplace(reader.key(), reader.line());
    if (!is_new) return reader.key_error(fmt::format("line {} has the same key", first->second));
    table.rows_[reader.key()] = std::move(reader.row());
  }
}

const Table::Row* Table::find(const std::vector<std::string>& key) const {
  const auto found = rows_.find(joined(key));
  return found == rows_.end() ? nullptr : &found->second;
}

Result<DatasetInfo> inspect_table(const StudyConfig& config) {
  DETOL_ASSIGN(const Table table, Table::load(*config.table));
  if (table.rows() == 0)
    return fail(ErrorCode::kInput, config.table->path + ": there is no row below the header");
  DatasetInfo info;
  info.fingerprint = table.fingerprint();
  return info;
}

Result<Admission> table_admission(const StudyConfig& config) {
  DETOL_ASSIGN(const Lookup look_up, Lookup::of(config));
  return Admission([look_up](const Genome& genome) -> std::optional<StudyConfig::Refused> {
    const auto row = look_up.row(genome);
    return row ? std::nullopt : std::optional(row.error());
  });
}

Result<std::unique_ptr<Evaluator>> make_table(const StudyConfig& config,
                                              const TrainerOptions& options) {
  DETOL_ASSIGN(const Lookup look_up, Lookup::of(config));
  return make_one_epoch(
      *options.group, 0,
      [look_up](const Job& job) -> tl::expected<EpochReport, StudyConfig::Refused> {
        const auto row = look_up.row(job.genome);
        if (!row) return tl::unexpected(row.error());
        return look_up.report_of(**row);
      });
}

}  // namespace detol::inline trainer
