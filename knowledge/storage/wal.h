#pragma once

// The write-ahead log, read as bytes before SQLite opens it
// (https://www.sqlite.org/fileformat2.html#the_write_ahead_log).
//
// SQLite applies a log up to the first frame that does not verify and treats the rest as a
// transaction that was never finished, so one flipped bit hides every transaction after it. A
// frame's checksum continues its predecessor's: whatever lies before it, each frame can be
// verified from the checksum that its predecessor stores. So all frames are read:
//
//   a commit verifies after a frame that does not      damage: the log must not be opened
//   no commit verifies after it                        it was being written when its process
//                                                      was killed, or it is damaged
//
// Two kinds of frames are harmless: those with other salts than the header's, which are left from
// before the last checkpoint, and those of an uncommitted transaction, which have no commit frame.

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/result.h"

namespace detol::inline knowledge {

struct WalReport {
  enum class State { kSound, kTorn, kDamaged };

  State state = State::kSound;
  std::int64_t frame = 0;        // the first that does not verify, from 1; 0: the log's header
  std::int64_t sound_bytes = 0;  // the header and the frames that SQLite would apply
};

// Returns detol.db-wal for detol.db, beside the file that a symbolic link names.
std::filesystem::path wal_of(const std::filesystem::path& database);

// Reads the log of `database` once. A log that is missing or empty is sound. Errors (kStorage):
// it cannot be read.
Result<WalReport> examine_wal(const std::filesystem::path& database);

// Describes the problem and its remedy in one line. REQUIRES: the report's log is not sound.
std::string problem_of(const std::filesystem::path& database, const WalReport& report);

// Checks the log; warns of a torn end. REQUIRES: the writer's lock is held, and SQLite has not
// opened the database yet. Errors (kStorage): the log is damaged.
Result<void> check_wal(const std::filesystem::path& database);

// Examines a log that no live process writes. One with a live writer is reported as sound: its
// frames are being written, and SQLite reads them through the writer's shared index.
Result<WalReport> examine_idle_wal(const std::filesystem::path& database);

// Does the same as check_wal for a reader that holds no lock.
Result<void> check_idle_wal(const std::filesystem::path& database);

}  // namespace detol::inline knowledge
