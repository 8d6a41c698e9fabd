#include <optional>

#include "cli/commands.h"
#include "core/file.h"
#include "core/log.h"
#include "core/table.h"
#include "encodings/schema/units.h"
#include "encodings/study/study_config.h"
#include "knowledge/query.h"

namespace detol::inline cli {
namespace {

constexpr std::int64_t kMostRows = 1'000'000;  // unless a limit is given
constexpr const char* kMostTime = "60s";
constexpr const char* kMostMemory = "512MB";

template <typename Parse>
Result<double> amount(const Arguments& arguments, std::string_view key, const char* otherwise,
                      Parse parse) {
  const std::string word = arguments.text(key, otherwise);
  if (const std::optional<double> value = parse(word)) return *value;
  return usage_error("--{} is {}; it must be as in {}", key, in_quotes(word), otherwise);
}

Result<QueryLimits> limits_from(const Arguments& arguments) {
  DETOL_ASSIGN(const auto rows, arguments.number("limit", 1));
  DETOL_ASSIGN(const double seconds, amount(arguments, "timeout", kMostTime, parse_duration));
  DETOL_ASSIGN(const double bytes, amount(arguments, "memory", kMostMemory, parse_size));
  return QueryLimits{rows.value_or(kMostRows), static_cast<std::int64_t>(bytes), seconds};
}

// Returns the SQL of the command line, of the file that it names, or of standard input.
Result<std::string> sql_from(const Arguments& arguments) {
  constexpr std::size_t kLongest = 1'000'000;
  if (arguments.has("SQL") == arguments.has("file"))
    return usage_error("give one SELECT, - for standard input, or --file FILE");
  constexpr double kWaitS = 60;
  const std::string sql = arguments.text("SQL");
  if (arguments.has("SQL") && sql != "-") return sql;
  return read_file_or_pipe(arguments.text("file", "/dev/stdin"), kLongest, kWaitS);
}

Result<int> run_query(const Arguments& arguments) {
  DETOL_ASSIGN(const QueryLimits limits, limits_from(arguments));
  DETOL_ASSIGN(const std::string sql, sql_from(arguments));
  DETOL_ASSIGN(const auto reader, Reader::open(arguments.globals.storage));
  DETOL_ASSIGN(const Rows rows, reader->select(sql, {}, limits));
  if (rows.is_cut && !arguments.has("limit")) {
    return usage_error("the query found more than {} rows; add a LIMIT to it, or pass --limit",
                       kMostRows);
  }
  DETOL_TRY(print_rows(rows, arguments.globals));
  if (rows.is_cut) log_info("these are the first {} rows; there are more", limits.rows);
  if (rows.rows.empty()) return fail(ErrorCode::kEmpty, "0 rows: no row fits the query");
  return 0;
}

std::string query_notes() {
  return "Views:\n"
         "  v_studies   study, state, budget, metric, direction, trials, ...\n"
         "  v_trials    study, trial, state, failure, reason, algorithm, arch_hash, params,\n"
         "              flops, epochs, device_seconds, started, finished, value, values_json\n"
         "  v_params    study, trial, name, value\n"
         "  v_metrics   study, trial, epoch, name, value, step\n"
         "  v_models, v_workers, v_datasets, v_networks, v_hosts, v_runs\n";
}

}  // namespace

Command query_command() {
  return {
      .name = "query",
      .summary = "read-only SQL over the knowledge base",
      .options = {{"SQL", "",
                   "one SELECT; - reads it from standard input; default: that of --file"},
                  {"--file", "FILE", "reads it from a file; default: the argument SQL"},
                  {"--limit", "ROWS",
                   "the first so many rows; default: all, of which more than 1000000 are refused"},
                  {"--timeout", "DURATION", "how long to look for them; default 60s"},
                  {"--memory", "SIZE", "what that may take; default 512MB"}},
      .examples =
          "  detol query \"SELECT state, count(*) AS n FROM v_trials GROUP BY state\"\n"
          "  detol query --file question.sql\n"
          "  detol query -f csv --limit 20000000 --memory 16GB \"SELECT * FROM v_metrics\"",
      .run = run_query,
      .notes = query_notes};
}

}  // namespace detol::inline cli
