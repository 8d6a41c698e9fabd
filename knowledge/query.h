#pragma once

// Reads the knowledge base, also while a master writes it: the documented views, as rows of
// plain cells. It cannot write. Safe to open from any process on this machine.

#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/result.h"
#include "knowledge/event.h"
#include "knowledge/facts.h"
#include "knowledge/study_record.h"

namespace detol::inline knowledge {

using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;

// Returns the number in a cell, or `otherwise` if it holds none.
inline double cell_number(const Cell& cell,
                          double otherwise = std::numeric_limits<double>::quiet_NaN()) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&cell);
  return real != nullptr ? *real : otherwise;
}

struct Rows {
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
  bool is_cut = false;  // there are more rows than the limit
};

// QueryLimits bounds a query; 0: no limit. A limit on rows truncates the result, the others refuse
// the query.
struct QueryLimits {
  std::int64_t rows = 0;
  std::int64_t bytes = 0;  // of the result, and as many for SQLite's work
  double seconds = 0;
};

class Reader {
 public:
  // Opens a database. Errors: kStudy if there is none; kStorage if it is corrupt or newer.
  static Result<std::unique_ptr<Reader>> open(const std::filesystem::path& path);
  virtual ~Reader() = default;

  // Runs one SELECT over the views (docs/knowledge-base.md); `arguments` bind to ?1, ?2, ...
  // Returns the whole result at once, so that a caller that prints it slowly does not keep the
  // writer's log from being truncated. Errors (kUsage): not one read-only statement, SQL that
  // SQLite refuses, a limit exceeded.
  virtual Result<Rows> select(const std::string& sql, const std::vector<Cell>& arguments = {},
                              const QueryLimits& limits = {}) = 0;

  virtual Result<std::vector<StudyRecord>> studies() = 0;

  // Returns the study of that name. Errors (kStudy): there is none, with a did-you-mean.
  virtual Result<StudyRecord> study(const std::string& name) = 0;

  // See Ledger::events.
  virtual Result<std::vector<Event>> events(StudyId study) = 0;

  // Returns the facts of a kind (facts.h), or, if it is empty, of all, in the order of kind and
  // key. Errors (kStorage): one is damaged.
  virtual Result<std::vector<Fact>> facts(const std::string& kind) = 0;

  // Returns the fact of that kind and key; nullopt: there is none. Errors (kStorage).
  virtual Result<std::optional<Fact>> fact(const std::string& kind, const std::string& key) = 0;

  // Returns the events after number `last` (0: all). Reads only these.
  virtual Result<NewEvents> events_after(StudyId study, std::int64_t last) = 0;
};

}  // namespace detol::inline knowledge
