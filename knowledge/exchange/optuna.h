#pragma once

// Optuna's databases: the SQLite files of its RDBStorage, read and written. The schema is that of
// its revisions v3.0.0.d (Optuna 3.0 and 3.1) and v3.2.0.a (3.2 and later), which differ in an
// index only; the later one is written (github.com/optuna/optuna, optuna/storages/_rdb). Optuna
// counts steps where detol counts epochs, and numbers the values of a trial where detol names
// metrics.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/space/space.h"
#include "knowledge/exchange/trial_history.h"

namespace detol::inline knowledge {

// Returns true if a file begins like a SQLite database.
bool is_sqlite(const std::filesystem::path& file);

struct OptunaSource {
  std::filesystem::path path;
  std::string study;                  // empty: the only one
  std::vector<Objective> objectives;  // named in the order of its values
  std::string intermediate;           // the metric of its intermediate values
};

// Reads the trials of a study by number, in every state. The final value replaces the last
// intermediate one. Steps from 0 become epochs from 1.
// Errors: kInput for a file that is no such database, or other directions than the objectives';
// kUsage if `study` is not one of its studies, or empty though there are several.
Result<std::vector<TrialHistory>> read_optuna(const OptunaSource& source);

struct OptunaStudy {
  std::string name;
  std::vector<Objective> objectives;
  Space space;
  std::vector<TrialHistory> trials;
};

// Writes a new database that is whole or absent. The first objective's curve becomes the
// intermediate values. A complete trial without a number for every objective becomes a FAIL, since
// Optuna has no NaN among values. Errors (kStorage), kInput: a choice outside its study's space.
// REQUIRES: the names of the studies differ.
Result<void> write_optuna(const std::filesystem::path& path, std::span<const OptunaStudy> studies);

}  // namespace detol::inline knowledge
