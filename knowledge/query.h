#pragma once

// Reading the knowledge base, also while a master writes it: the documented views, rows of
// plain cells, no write possible. Safe to open from any process on this machine.

#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/result.h"
#include "knowledge/ledger.h"

namespace detol {

using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;

struct Rows {
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
  bool is_cut = false;  // there are more than the limit
};

// What a query may take; 0: any amount. A limit on rows cuts the answer, the others refuse it.
struct QueryLimits {
  std::int64_t rows = 0;
  std::int64_t bytes = 0;  // of the answer, and again of what SQLite needs to find it
  double seconds = 0;      // after the database was verified
};

// What a study's ledger says since an earlier look.
struct News {
  std::vector<Event> events;  // as of Ledger::events: the accounting comes last, if there is any
  std::int64_t last = 0;      // the number of the last event, for the next look
};

class Reader {
 public:
  // Errors: kStudy if there is no database, so no study; kStorage if it is corrupt or newer.
  static Result<std::unique_ptr<Reader>> open(const std::filesystem::path& path);
  virtual ~Reader() = default;

  // Runs one SELECT over the views (interface.md section 3); `arguments` bind to ?1, ?2, ...
  // The whole answer is there when it returns: nobody who prints it slowly holds up the writer's
  // log. Errors (kUsage): not one read-only statement, SQL that SQLite refuses, a limit.
  virtual Result<Rows> select(const std::string& sql, const std::vector<Cell>& arguments = {},
                              const QueryLimits& limits = {}) = 0;

  virtual Result<std::vector<StudyRecord>> studies() = 0;

  // Errors (kStudy): there is none of that name, with a did-you-mean.
  virtual Result<StudyRecord> study(const std::string& name) = 0;

  // As Ledger::events.
  virtual Result<std::vector<Event>> events(StudyId study) = 0;

  // The events after number `last` (0: all); costs what is new, not what is there.
  virtual Result<News> news(StudyId study, std::int64_t last) = 0;
};

}  // namespace detol
