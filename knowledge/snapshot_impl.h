#pragma once

// Snapshots: on a network file system only the master may open the database, so it leaves a
// verified copy, `<stem>.ro.db`, for everybody else: one when a study begins to run, one
// every few seconds (a minute, where a copy takes three), one when the study ends. A copy that
// fails is tried again later; the search continues.

#include <filesystem>

#include "core/clock.h"
#include "knowledge/sqlite_impl.h"

namespace detol::inline knowledge {

// detol.db -> detol.ro.db
std::filesystem::path snapshot_of(const std::filesystem::path& database);

class Snapshots {
 public:
  // Inert unless `path` is on a network file system. `clock` outlives this.
  Snapshots(std::filesystem::path path, Clock& clock);

  // Writes one if it is time. REQUIRES: no transaction is open.
  void update(sqlite3* database);

  void want() { next_s_ = clock_->now_s(); }  // it is time now

 private:
  std::filesystem::path path_;  // empty: inert
  Clock* clock_;
  double next_s_ = 0;
};

}  // namespace detol::inline knowledge
