#pragma once

// WriterLock: one live process writes a study, and many processes write a database, each its own
// studies. writer_lock_file.h describes the locks.

#include <filesystem>
#include <string>
#include <utility>

#include "core/result.h"
#include "knowledge/storage/writer_lock_file.h"

namespace detol::inline knowledge {

// Access: beside whom a process writes a database.
enum class Access {
  kShared,           // beside the writers of other studies; alone on a network file system
  kExclusive,        // alone, as is needed to change the whole database
  kExclusiveAtOnce,  // the same, but waits for nobody
};

// Turn: the permission to commit. The destructor gives it to the next process.
class Turn {
 public:
  explicit Turn(int file) : file_(file) {}
  Turn(Turn&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn();

 private:
  int file_;  // negative: nobody else may commit
};

class WriterLock {
 public:
  // Takes the lock: exclusively if nobody has the database open, so that the caller can create or
  // repair it before it calls share(); else shared if `access` allows it. Then another process has
  // opened the database, and has it open still. Waits up to ten seconds for a process that holds it
  // exclusively, but not on a network file system, where one does so for its life. Errors
  // (kStorage): a live process holds it, naming host, pid and since when, or, if it is to be
  // exclusive, has the database open; the file cannot be created. It changes nothing then.
  static Result<WriterLock> acquire(const std::filesystem::path& database, Access access);

  // Locks the database itself, if it was created after acquire(), which locks an existing one.
  // REQUIRES: SQLite has not opened it, since closing a file drops SQLite's locks. Errors
  // (kStorage): as acquire().
  Result<void> hold(const std::filesystem::path& database);

  // Lets others write other studies. It never lets go of the database meanwhile. REQUIRES: the
  // lock is exclusive, and hold() succeeded. Errors (kStorage).
  Result<void> share();

  bool is_shared() const { return is_shared_; }

  // Locks a study, and names it in the lock's file. Errors (kStorage): a live process runs it,
  // naming host, pid and since when; the lock's file cannot be written.
  Result<void> lock_study(Slot study, const std::string& name);
  void unlock_study(Slot study);  // REQUIRES: lock_study() was called

  // Writes the name of the running study to the lock's file; empty: it runs no more. It is
  // information only, so that a failed write is ignored. REQUIRES: the study is locked.
  void announce(Slot study, const std::string& name) const;

  // Waits until it is this process's turn to commit, in the order of asking. Two locks make this
  // fair. With one, a process that commits in a loop would take it again before the kernel has
  // woken those that wait. So who waits for its turn holds the queue, and who has just had a turn
  // finds the queue held and waits behind it. The queue itself is held only while its holder waits
  // for the turn, and the kernel wakes those that wait for a lock one after the other. Others
  // cannot commit beside an exclusive lock, which needs no turns. Waits up to ten seconds for each
  // lock: a process that was stopped (SIGSTOP) within its turn may keep it for ever. Errors
  // (kStorage): nobody gave the turn away in time, naming the process that is stopped if one is.
  Result<Turn> wait_for_turn() const;

  // Returns false if another process took the lock while this one runs: the file was deleted and
  // created again, or the file system's locks do not work. Opens the file again: only then does a
  // network file system guarantee to show another machine's change. `study`: a locked study, or 0
  // for the database alone.
  bool is_ours(Slot study) const;

  // Removes the lock's file if this lock created it, for a writer that could not open the database.
  // REQUIRES: the lock is exclusive.
  void withdraw();

  WriterLock(WriterLock&& other) noexcept
      : file_(std::exchange(other.file_, -1)),
        database_(std::exchange(other.database_, -1)),
        path_(std::move(other.path_)),
        token_(std::move(other.token_)),
        since_(std::move(other.since_)),
        is_new_(other.is_new_),
        is_shared_(other.is_shared_) {}
  WriterLock& operator=(WriterLock&&) = delete;
  ~WriterLock();

 private:
  enum class Attempt { kTaken, kOpenElsewhere, kHeldElsewhere };

  explicit WriterLock(std::string path);
  Result<Attempt> attempt(const std::filesystem::path& database, Access access);
  Result<void> open_file(const std::filesystem::path& database);
  Result<Attempt> take_file(bool may_share);
  Result<void> take_slots(Slot study, const std::string& name);
  Result<void> open_database(const std::filesystem::path& database);
  Result<void> write_holder(Slot slot, const std::string& study) const;
  bool is_same_file() const;
  tl::unexpected<Error> not_given(int error) const;
  tl::unexpected<Error> is_written_by_a_stranger(const std::string& database) const;

  int file_ = -1;
  int database_ = -1;
  std::string path_, token_, since_;
  bool is_new_ = false;
  bool is_shared_ = false;
};

}  // namespace detol::inline knowledge
