#pragma once

// The layout of a writer's lock, and its locks of open file descriptions, which the kernel drops
// when their holder dies, however it dies, so that a dead holder needs no cleaning up.
//
//   `<path>.lock`   slots of kSlotSize bytes. Slot i, i >= 1, is the study with number i, slot 0
//                   the database itself. A slot's bytes are locked, and name its holder as JSON in
//                   one write of kSlotSize bytes: host, pid, since, study, and a token that no
//                   other holder has. Far beyond them: kQueueByte and kTurnByte.
//   the database    byte kDatabaseByte + i is locked with slot i. It is far beyond the file's end
//                   and beyond those that SQLite locks: this lock works whatever name the file was
//                   opened by, and if somebody removed the other file.
//
// Every writer holds slot 0 shared, and its studies' slots exclusively; who changes the whole
// database holds everything exclusively, as did detol when it knew no slots. Only the former is
// shared, so that older detols and these refuse each other.

#include <fcntl.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/result.h"
#include "knowledge/storage/writer.h"

namespace detol::inline knowledge {

// Slot: the number of a study, or 0.
using Slot = std::int64_t;

inline constexpr off_t kSlotSize = 1024;
inline constexpr off_t kDatabaseByte = off_t{1} << 60;  // a database has at most 2^48 bytes
inline constexpr off_t kQueueByte = off_t{1} << 61;
inline constexpr off_t kTurnByte = kQueueByte + 1;
inline constexpr Slot kMaxSlot = Slot{1} << 40;

// ByteRange: a part of a file; a length of 0 reaches to infinity.
struct ByteRange {
  off_t start = 0, length = 0;
};

inline constexpr ByteRange kWholeLock{0, 0};
inline constexpr ByteRange kWholeDatabase{kDatabaseByte, 0};

inline ByteRange slot_in_lock(Slot slot) {
  return {slot * kSlotSize, kSlotSize};
}
inline ByteRange slot_in_database(Slot slot) {
  return {kDatabaseByte + slot, 1};
}

// Sets a lock of the type F_WRLCK, F_RDLCK or F_UNLCK. Returns 0, or errno: EAGAIN or EACCES if
// another process holds a lock that forbids it.
int set_lock(int file, short type, ByteRange bytes);

// Waits until the lock can be set, for at most limit_s seconds. Returns 0 or errno: ETIMEDOUT if it
// waited in vain. A real-time signal wakes it: the first call installs a handler of SIGRTMIN + 8.
int wait_for_lock(int file, short type, ByteRange bytes, double limit_s);

inline bool is_held_by_another(int error) {
  return error == EAGAIN || error == EACCES;
}

// Returns true if another process holds a lock that forbids this one, or none can be asked for.
bool would_be_refused(int file, short type, ByteRange bytes);

// LockHolder is what a slot tells of its holder.
struct LockHolder {
  Writer writer;
  std::string token;  // empty: the slot names none
};

// Reads a slot; one that was never written, or is damaged, names an unknown process.
LockHolder read_slot(int file, Slot slot);

// Writes a slot. Returns false on a failure, with errno.
bool write_slot(int file, Slot slot, const LockHolder& holder);

// Returns a process of this machine that is stopped, as by Ctrl-Z, and has the lock of a study in
// the lock's file `path`; nullopt if there is none.
std::optional<Writer> stopped_writer(int file, const std::string& path);

// Returns "process 17 on host a since ..., which runs study 'x'".
std::string describe_holder(const Writer& writer);

}  // namespace detol::inline knowledge
