#include "knowledge/storage/writer_lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <random>
#include <system_error>
#include <thread>

#include "core/fault.h"
#include "core/hash.h"
#include "core/host.h"
#include "knowledge/storage/file_system.h"
#include "knowledge/storage/writer.h"

// A process takes a slot of the lock's file before that of the database, and drops them in the
// other order. Who gets the former but not the latter has therefore met a process that does not
// hold the same lock's file.

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;

constexpr double kLimitS = 10;  // of a wait for another process

std::string fresh_token() {
  std::random_device device;
  return to_hex(std::uint64_t{device()} << 32 | device());
}

bool are_same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool has_bytes(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return !error && size > 0;
}

tl::unexpected<Error> not_locked(const std::string& path, int error) {
  return fail(ErrorCode::kStorage,
              fmt::format("{}: cannot be locked: {}; pass a --storage that you may write", path,
                          std::generic_category().message(error)));
}

tl::unexpected<Error> is_written(const std::string& database, const std::string& writer) {
  return fail(ErrorCode::kStorage,
              fmt::format("{} is being written by {}; stop that search first, or pass another "
                          "--storage",
                          database, writer));
}

// Sets a lock of the database. A process that is being killed lets go of its files one after the
// other, so that it may still hold the database for a moment.
int set_lock_soon(int database, short type, ByteRange bytes) {
  constexpr int kTries = 50;
  int error = set_lock(database, type, bytes);
  for (int i = 1; i < kTries && is_held_by_another(error); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    error = set_lock(database, type, bytes);
  }
  return error;
}

}  // namespace

Turn::~Turn() {
  if (file_ >= 0) set_lock(file_, F_UNLCK, {kTurnByte, 1});
}

WriterLock::WriterLock(std::string path)
    : path_(std::move(path)),
      token_(fresh_token()),
      since_(fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr)))) {}

Result<WriterLock> WriterLock::acquire(const fs::path& database, Access access) {
  using std::chrono::milliseconds;
  using Clock = std::chrono::steady_clock;
  constexpr milliseconds kLongestPause(50);
  const auto limit = Clock::now() + std::chrono::duration<double>(patience(kLimitS));
  const bool may_wait = access != Access::kExclusiveAtOnce && !is_on_network(database);
  for (milliseconds pause(1);; pause = std::min(2 * pause, kLongestPause)) {
    WriterLock lock(database.string() + ".lock");
    DETOL_ASSIGN(const Attempt attempt, lock.attempt(database, access));
    if (attempt == Attempt::kTaken) return lock;
    const bool is_late = Clock::now() > limit;
    if (attempt == Attempt::kOpenElsewhere || !may_wait || is_late) {
      DETOL_ASSIGN(const auto writer, current_writer(database));
      if (writer) return is_written(database.string(), describe_holder(*writer));
      if (is_late) return is_written(database.string(), "a process that has just ended");
    }
    std::this_thread::sleep_for(pause);
  }
}

Result<WriterLock::Attempt> WriterLock::attempt(const fs::path& database, Access access) {
  DETOL_TRY(open_file(database));
  DETOL_ASSIGN(const Attempt attempt,
               take_file(access == Access::kShared && !is_on_network(database)));
  if (attempt != Attempt::kTaken) return attempt;
  auto done = has_bytes(database) ? hold(database) : Result<void>();
  if (done) done = write_holder(0, "");
  if (done || is_shared_) return done ? Result<Attempt>(attempt) : tl::unexpected(done.error());
  withdraw();
  return tl::unexpected(std::move(done).error());
}

// Opens the lock's file. It is not created beside a process that holds the database alone, whose
// lock's file was removed: that process would take the new file for a sign that it was replaced.
Result<void> WriterLock::open_file(const fs::path& database) {
  // The file is never opened through a link, since its content is overwritten.
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  file_ = ::open(path_.c_str(), kFlags);
  if (file_ < 0 && errno == ENOENT) {
    if (has_bytes(database)) {
      DETOL_TRY(open_database(database));
      if (would_be_refused(database_, F_WRLCK, kWholeDatabase) &&
          ::access(path_.c_str(), F_OK) != 0)
        return is_written_by_a_stranger(database.string());
    }
    file_ = ::open(path_.c_str(), kFlags | O_CREAT | O_EXCL, 0644);
    is_new_ = file_ >= 0;
    if (file_ < 0 && errno == EEXIST) file_ = ::open(path_.c_str(), kFlags);
  }
  if (file_ >= 0) return {};
  const int error = errno;
  if ((error == EACCES || error == EPERM) && ::access(path_.c_str(), F_OK) == 0) {
    return fail(ErrorCode::kStorage,
                fmt::format("{}: cannot be opened: {}; a knowledge base is written by one user: "
                            "keep one of your own, and add it to others by `detol db merge`",
                            path_, std::generic_category().message(error)));
  }
  return fail(ErrorCode::kStorage,
              fmt::format("{}: cannot be created: {}; pass a --storage that you may write", path_,
                          std::generic_category().message(error)));
}

Result<WriterLock::Attempt> WriterLock::take_file(bool may_share) {
  int error = set_lock(file_, F_WRLCK, kWholeLock);
  if (error != 0 && !is_held_by_another(error)) return not_locked(path_, error);
  // Its holder may have removed the file before it let go of it.
  if (error == 0) return is_same_file() ? Attempt::kTaken : Attempt::kHeldElsewhere;
  if (would_be_refused(file_, F_RDLCK, slot_in_lock(0))) return Attempt::kHeldElsewhere;
  if (!may_share) return Attempt::kOpenElsewhere;
  error = set_lock(file_, F_RDLCK, slot_in_lock(0));
  if (error != 0 && !is_held_by_another(error)) return not_locked(path_, error);
  // If the others ended meanwhile, this process has to examine what they left.
  is_shared_ = error == 0 && is_same_file() && would_be_refused(file_, F_WRLCK, slot_in_lock(0));
  return is_shared_ ? Attempt::kTaken : Attempt::kHeldElsewhere;
}

Result<void> WriterLock::open_database(const fs::path& database) {
  if (database_ >= 0) return {};
  database_ = ::open(database.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (database_ < 0) return not_locked(database.string(), errno);
  return {};
}

Result<void> WriterLock::hold(const fs::path& database) {
  DETOL_TRY(open_database(database));
  const int error = is_shared_ ? set_lock_soon(database_, F_RDLCK, slot_in_database(0))
                               : set_lock_soon(database_, F_WRLCK, kWholeDatabase);
  if (error == 0) return {};
  if (!is_held_by_another(error)) return not_locked(database.string(), error);
  return is_written_by_a_stranger(database.string());
}

tl::unexpected<Error> WriterLock::is_written_by_a_stranger(const std::string& database) const {
  return is_written(database,
                    fmt::format("a process that does not hold {}: it knows the file by another "
                                "name, or somebody removed that lock",
                                path_));
}

// Shares the database first: who gets the lock's file must get the database, too.
Result<void> WriterLock::share() {
  struct Step {
    int file;
    short type;
    ByteRange bytes;
  };
  for (const Step& step :
       {Step{database_, F_RDLCK, slot_in_database(0)},
        Step{database_, F_UNLCK, {kDatabaseByte + 1, 0}}, Step{file_, F_RDLCK, slot_in_lock(0)},
        Step{file_, F_UNLCK, {kSlotSize, 0}}}) {
    if (const int error = set_lock(step.file, step.type, step.bytes); error != 0)
      return not_locked(path_, error);
  }
  is_shared_ = true;
  return {};
}

Result<void> WriterLock::lock_study(Slot study, const std::string& name) {
  if (study < 1 || study > kMaxSlot)
    return fail(ErrorCode::kStorage, fmt::format("{}: no study has the number {}", path_, study));
  if (is_shared_) DETOL_TRY(take_slots(study, name));
  auto done = write_holder(study, name);
  if (!done) unlock_study(study);
  if (done && !is_shared_) announce(study, name);
  return done;
}

Result<void> WriterLock::take_slots(Slot study, const std::string& name) {
  const int error = set_lock(file_, F_WRLCK, slot_in_lock(study));
  if (is_held_by_another(error)) {
    return tl::unexpected(
        Error{.code = ErrorCode::kStorage,
              .message = fmt::format("study '{0}' is being run by {1}; stop it first (`detol study "
                                     "stop {0}`), or begin another study",
                                     name, to_text(read_slot(file_, study).writer)),
              .system_error = EWOULDBLOCK});
  }
  if (error != 0) return not_locked(path_, error);
  const int also = set_lock_soon(database_, F_WRLCK, slot_in_database(study));
  if (also == 0) return {};
  set_lock(file_, F_UNLCK, slot_in_lock(study));
  if (is_held_by_another(also)) return is_written_by_a_stranger("study '" + name + "'");
  return not_locked(path_, also);
}

void WriterLock::unlock_study(Slot study) {
  if (!is_shared_) return;
  set_lock(database_, F_UNLCK, slot_in_database(study));
  set_lock(file_, F_UNLCK, slot_in_lock(study));
}

Result<void> WriterLock::write_holder(Slot slot, const std::string& study) const {
  const LockHolder holder{
      .writer = {.host = host_name(), .pid = ::getpid(), .since = since_, .study = study},
      .token = token_};
  if (write_slot(file_, slot, holder)) return {};
  return fail(ErrorCode::kStorage,
              fmt::format("{}: cannot be written: {}; make room, or pass another --storage", path_,
                          std::generic_category().message(errno)));
}

// The holder of the whole database is described by slot 0 alone.
void WriterLock::announce(Slot study, const std::string& name) const {
  (void)write_holder(study, name);
  if (!is_shared_) (void)write_holder(0, name);
}

Result<Turn> WriterLock::wait_for_turn() const {
  if (!is_shared_) return Turn(-1);
  const double limit_s = patience(kLimitS);
  if (const int error = wait_for_lock(file_, F_WRLCK, {kQueueByte, 1}, limit_s); error != 0)
    return not_given(error);
  const int error = wait_for_lock(file_, F_WRLCK, {kTurnByte, 1}, limit_s);
  set_lock(file_, F_UNLCK, {kQueueByte, 1});
  if (error != 0) return not_given(error);
  return Turn(file_);
}

tl::unexpected<Error> WriterLock::not_given(int error) const {
  if (error != ETIMEDOUT) return not_locked(path_, error);
  const auto stopped = stopped_writer(file_, path_);
  if (!stopped) {
    return fail(ErrorCode::kStorage,
                fmt::format("{}: another process has been committing for more than {} s", path_,
                            patience(kLimitS)));
  }
  return fail(ErrorCode::kStorage,
              fmt::format("{}: no other process can commit while {} is stopped; continue it "
                          "(kill -CONT {}), or end it",
                          path_, describe_holder(*stopped), stopped->pid));
}

bool WriterLock::is_same_file() const {
  struct stat held {
  }, found{};
  return ::fstat(file_, &held) == 0 && ::stat(path_.c_str(), &found) == 0 &&
         are_same_file(held, found);
}

bool WriterLock::is_ours(Slot study) const {
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;  // deleted, but no other process created it again
  struct stat held {
  }, found{};
  bool is_same =
      ::fstat(file_, &held) == 0 && ::fstat(file, &found) == 0 && are_same_file(held, found);
  const auto is_another = [&](Slot slot) {
    const std::string token = read_slot(file, slot).token;
    return !token.empty() && token != token_;
  };
  if (study != 0 && is_another(study)) is_same = false;
  if (!is_shared_ && is_another(0)) is_same = false;  // any sharer may have written it last
  ::close(file);
  return is_same;
}

void WriterLock::withdraw() {
  if (is_new_) ::unlink(path_.c_str());
}

WriterLock::~WriterLock() {
  for (const int file : {database_, file_}) {
    if (file >= 0) ::close(file);
  }
}

}  // namespace detol::inline knowledge
