#pragma once

// Snapshots: on a network file system only the master may open the database, so it leaves a
// verified copy, `<stem>.ro.db`, for all other processes: when a study begins to run, every few
// seconds (every minute if a copy takes three seconds), and when the study ends. A copy that fails
// is tried again later; the search continues.

#include <filesystem>

#include "core/clock.h"
#include "knowledge/verify_impl.h"

namespace detol::inline knowledge {

// Returns detol.ro.db for detol.db.
std::filesystem::path snapshot_of(const std::filesystem::path& database);

class Snapshots {
 public:
  // Writes no snapshots unless `path` is on a network file system. `clock` outlives this.
  Snapshots(std::filesystem::path path, Clock& clock);

  // Writes a snapshot of the verified database if one is due. REQUIRES: no transaction is open.
  void update(PageVerification& pages);

  void request() { next_s_ = clock_->now_s(); }  // makes a snapshot due

 private:
  std::filesystem::path path_;  // empty: no snapshots
  Clock* clock_;
  double next_s_ = 0;
};

}  // namespace detol::inline knowledge
