// Fuzzes SQL of users on a small knowledge base, which answers or refuses it, and never changes.

#include "core/file.h"
#include "studies/trial_rows.h"
#include "tests/fuzz/promise.h"
#include "tests/fuzz/targets.h"
#include "tests/knowledge/support.h"

namespace detol::fuzz {
namespace {

using namespace testing_support;

// A knowledge base of one study whose ledger is closed.
class Base {
 public:
  Base() {
    for (TrialId trial = 0; trial < 3; ++trial)
      one_.append(
          {asked(trial), started(trial, 1), reported(trial, 1, 1, 0.5), complete(trial, 0.5)});
    one_.ledger.reset();
    study_ = open_study(one_.path.string(), "s").value();
    bytes_ = bytes();
  }

  const OpenStudy& study() const { return study_; }

  void judge(const Result<Rows>& answer) const {
    if (!answer) promise_one_line(answer.error(), ErrorCode::kUsage);
    promise(bytes() == bytes_, "the query changed the knowledge base");
  }

 private:
  std::string bytes() const { return read_file(one_.path).value(); }

  OneStudy one_;
  OpenStudy study_;
  std::string bytes_;
};

const Base& base() {
  static const Base kBase;
  return kBase;
}

}  // namespace

void fuzz_query(std::string_view bytes) {
  base().judge(base().study().reader->select(std::string(bytes)));
}

std::vector<std::string> query_seeds() {
  return {"SELECT state, count(*) AS n FROM v_trials GROUP BY state",
          "SELECT t.trial, p.name, p.value FROM v_trials t JOIN v_params p USING (study, trial)",
          "SELECT name, max(value) FROM v_metrics WHERE epoch >= 1 ORDER BY 2 DESC LIMIT 3 -- best",
          "WITH w AS (SELECT * FROM v_workers) SELECT * FROM w, v_studies, v_datasets, v_networks",
          "SELECT json_extract(values_json, '$.val_accuracy') FROM v_trials",
          "PRAGMA journal_mode=DELETE",
          "ATTACH 'x' AS y",
          "DELETE FROM events; SELECT load_extension('x')"};
}

void fuzz_where(std::string_view bytes) {
  const TrialFilter filter{.where = std::string(bytes)};
  base().judge(trial_rows(base().study(), filter));
}

std::vector<std::string> where_seeds() {
  return {"state = 'COMPLETE' AND value > 0.4",
          "lr < 0.2 OR op IN ('conv', 'pool')",
          "val_loss BETWEEN 0 AND 1 /* a note */",
          "1) UNION SELECT 1 -- ",
          "\"trial\" % 2 = (SELECT count(*) FROM v_metrics)",
          "reason LIKE '%x%' ESCAPE '\\'"};
}

}  // namespace detol::fuzz
