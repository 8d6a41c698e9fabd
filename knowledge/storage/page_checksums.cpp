// The VFS passes everything on to SQLite's own ("base"), and looks at reads and writes of whole
// pages on the way. It needs no lock and no state in the file beyond the checksums themselves.
//
// The layout (size of a page, and whether there are checksums) is that of page 1, but SQLite writes
// page 1 when it commits, and may have to write other pages of a long transaction before. A VACUUM
// or a backup can change the layout meanwhile. An early page is therefore written by the layout of
// before, and its last 8 bytes are corrected when page 1 arrives (CheckedFile::settle). A rollback
// needs no such care: SQLite journals page 1 before any other in a transaction that changes the
// layout, so it is restored first.

#include "knowledge/storage/page_checksums.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include <sqlite3.h>

#include "core/hash.h"
#include "knowledge/storage/page_layout.h"

namespace detol::inline knowledge::sqlite {
namespace {

// EarlyPage: the last bytes of a page that was written before page 1 of its transaction.
struct EarlyPage {
  std::int64_t offset = 0;
  std::int64_t size = 0;
  Checksum content{};   // what SQLite wrote there
  Checksum checksum{};  // what is to be there if the new layout has checksums
};

// CheckedFile: an open database file. The base's sqlite3_file follows it in memory.
class CheckedFile : public sqlite3_file {
 public:
  int open(sqlite3_vfs* base_vfs, const char* name, int flags, int* flags_out);
  sqlite3_file* base() { return reinterpret_cast<sqlite3_file*>(this + 1); }

  int read(Page into, std::int64_t offset);
  int write(Page page, std::int64_t offset);
  int control(int opcode, void* argument);
  int visit_stale_pages(bool renews, std::int64_t& count);

  // Expects a new transaction, which may change the layout.
  void end_transaction() {
    early_.clear();
    is_settled_ = false;
  }

 private:
  int read_base(Page into, std::int64_t offset) {
    return base()->pMethods->xRead(base(), into.data(), static_cast<int>(into.size()), offset);
  }
  int write_base(std::span<const std::byte> bytes, std::int64_t offset) {
    return base()->pMethods->xWrite(base(), bytes.data(), static_cast<int>(bytes.size()), offset);
  }
  void learn_layout();
  int verify(Page page, std::int64_t offset);
  int read_part(Page into, std::int64_t offset);
  int write_page(Page page, std::int64_t offset);
  int fill_gap(std::int64_t page_size, std::int64_t end);
  int settle(const Layout& layout);

  sqlite3_io_methods methods_{};
  Layout layout_;
  bool is_verifying_ = true;
  std::int64_t damaged_page_ = 0;
  bool is_settled_ = false;  // page 1 of this transaction was written
  std::vector<EarlyPage> early_;
  std::vector<std::byte> scratch_;
};

void CheckedFile::learn_layout() {
  layout_ = {};
  std::array<std::byte, kHeaderBytes> header{};
  if (read_base(header, 0) != SQLITE_OK) return;
  const Layout found = layout_from_header(header);
  if (found.page_size == 0) return;
  scratch_.resize(static_cast<std::size_t>(found.page_size));
  if (read_base(scratch_, 0) == SQLITE_OK) layout_ = layout_from_page(scratch_);
}

int CheckedFile::verify(Page page, std::int64_t offset) {
  if (!is_verifying_ || layout_.verifies(page, offset)) return SQLITE_OK;
  damaged_page_ = layout_.page_at(offset);
  return SQLITE_IOERR_DATA;
}

int CheckedFile::read(Page into, std::int64_t offset) {
  const auto bytes = static_cast<std::int64_t>(into.size());
  if (layout_.page_size == 0 && is_size_of_page(bytes)) learn_layout();
  if (layout_.has_checksums && bytes < layout_.page_size && offset + bytes > kHeaderBytes)
    return read_part(into, offset);
  const int code = read_base(into, offset);
  if (code != SQLITE_OK) return code;  // beyond the end: SQLite gets zeros
  if (offset == 0 && is_size_of_page(bytes)) layout_ = layout_from_page(into);
  return layout_.is_checked_page(offset, bytes) ? verify(into, offset) : SQLITE_OK;
}

// Reads a part of a page by way of all of it. SQLite can be built to read long values like this
// (SQLITE_DIRECT_OVERFLOW_READ).
int CheckedFile::read_part(Page into, std::int64_t offset) {
  const std::int64_t begin = offset % layout_.page_size;
  if (begin + static_cast<std::int64_t>(into.size()) > layout_.page_size)
    return read_base(into, offset);
  scratch_.resize(static_cast<std::size_t>(layout_.page_size));
  int code = read_base(scratch_, offset - begin);
  if (code == SQLITE_IOERR_SHORT_READ) return read_base(into, offset);
  if (code == SQLITE_OK) code = verify(scratch_, offset - begin);
  if (code == SQLITE_OK) std::copy_n(scratch_.begin() + begin, into.size(), into.begin());
  return code;
}

int CheckedFile::write(Page page, std::int64_t offset) {
  const auto bytes = static_cast<std::int64_t>(page.size());
  if (!is_size_of_page(bytes) || offset % bytes != 0) return write_base(page, offset);
  int code = SQLITE_OK;
  if (offset == 0) code = settle(layout_from_header(page));
  const bool may_have_checksums = layout_.page_size == 0 || layout_.is_checked_page(offset, bytes);
  if (code == SQLITE_OK && may_have_checksums) code = fill_gap(bytes, offset);
  return code == SQLITE_OK ? write_page(page, offset) : code;
}

int CheckedFile::write_page(Page page, std::int64_t offset) {
  const auto bytes = static_cast<std::int64_t>(page.size());
  const Checksum checksum = checksum_of(page, offset / bytes + 1);
  if (!is_settled_) early_.push_back({offset, bytes, stored_checksum(page), checksum});
  if (layout_.is_checked_page(offset, bytes)) store_checksum(page, checksum);
  return write_base(page, offset);
}

// Writes pages of zeros up to `end`. SQLite need not write a page that was freed before it was
// ever written; the hole in the file would have no checksum, and a backup reads such pages, too.
int CheckedFile::fill_gap(std::int64_t page_size, std::int64_t end) {
  sqlite3_int64 size = 0;
  int code = base()->pMethods->xFileSize(base(), &size);
  for (std::int64_t offset = (size + page_size - 1) / page_size * page_size;
       code == SQLITE_OK && offset < end; offset += page_size) {
    if (offset / page_size == kPendingByte / page_size) continue;
    scratch_.assign(static_cast<std::size_t>(page_size), std::byte{});
    code = write_page(scratch_, offset);
  }
  return code;
}

// Takes over the layout of a page 1 that is about to be written, and corrects the early pages.
int CheckedFile::settle(const Layout& layout) {
  const Layout before = std::exchange(layout_, layout);
  const std::vector<EarlyPage> early = std::exchange(early_, {});
  is_settled_ = true;
  if (before == layout) return SQLITE_OK;
  for (const EarlyPage& page : early) {
    const auto& bytes =
        layout.is_checked_page(page.offset, page.size) ? page.checksum : page.content;
    const int code = write_base(bytes, page.offset + page.size - kChecksumBytes);
    if (code != SQLITE_OK) return code;
  }
  return SQLITE_OK;
}

// Counts the pages that do not match their checksums, and writes their checksums if `renews`. A
// page that another process writes meanwhile may keep a stale one, which is found when it is read.
int CheckedFile::visit_stale_pages(bool renews, std::int64_t& count) {
  count = 0;
  sqlite3_int64 size = 0;
  int code = layout_.has_checksums ? base()->pMethods->xFileSize(base(), &size) : SQLITE_OK;
  const std::int64_t page_size = layout_.page_size;
  for (std::int64_t offset = 0; code == SQLITE_OK && offset + page_size <= size;
       offset += page_size) {
    if (offset / page_size == kPendingByte / page_size) continue;
    scratch_.resize(static_cast<std::size_t>(page_size));
    code = read_base(scratch_, offset);
    if (code != SQLITE_OK || layout_.verifies(scratch_, offset)) continue;
    ++count;
    if (renews)
      code = write_base(checksum_of(scratch_, layout_.page_at(offset)),
                        offset + page_size - kChecksumBytes);
  }
  if (code != SQLITE_OK || !renews || count == 0) return code;
  return base()->pMethods->xSync(base(), SQLITE_SYNC_NORMAL);
}

int CheckedFile::control(int opcode, void* argument) {
  switch (opcode) {
    case kCountStalePages:
    case kRenewChecksums:
      return visit_stale_pages(opcode == kRenewChecksums, *static_cast<std::int64_t*>(argument));
    case kSkipVerification:
      is_verifying_ = false;
      damaged_page_ = 0;
      return SQLITE_OK;
    case kDamagedPage:
      *static_cast<std::int64_t*>(argument) = damaged_page_;
      return SQLITE_OK;
    case SQLITE_FCNTL_CKPT_START:  // page 1 may have changed in the log, or another process's hands
      learn_layout();
      is_settled_ = true;  // a log's pages come in order, page 1 first
      break;
    case SQLITE_FCNTL_OVERWRITE:  // VACUUM
    case SQLITE_FCNTL_COMMIT_PHASETWO:
    case SQLITE_FCNTL_CKPT_DONE:
      end_transaction();
      break;
    default:
      break;
  }
  return base()->pMethods->xFileControl(base(), opcode, argument);
}

CheckedFile* checked(sqlite3_file* file) {
  return static_cast<CheckedFile*>(file);
}

// Calls `body`; SQLite knows no exceptions.
template <typename Body>
int without_exceptions(const Body& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return SQLITE_IOERR_NOMEM;
  }
}

// Calls the base's method of the same name.
template <auto kMethod, typename Value, typename... Arguments>
Value forward_file(sqlite3_file* file, Arguments... arguments) {
  sqlite3_file* base = checked(file)->base();
  return (base->pMethods->*kMethod)(base, arguments...);
}

template <auto kMethod, typename Value, typename... Arguments>
Value forward_vfs(sqlite3_vfs* vfs, Arguments... arguments) {
  auto* base = static_cast<sqlite3_vfs*>(vfs->pAppData);
  return (base->*kMethod)(base, arguments...);
}

int close_file(sqlite3_file* file) {
  CheckedFile* ours = checked(file);
  const int code = ours->base()->pMethods->xClose(ours->base());
  ours->~CheckedFile();
  return code;
}

int read_file_bytes(sqlite3_file* file, void* into, int bytes, sqlite3_int64 offset) {
  const Page page(static_cast<std::byte*>(into), static_cast<std::size_t>(bytes));
  return without_exceptions([&] { return checked(file)->read(page, offset); });
}

// The checksum goes into the caller's own buffer: its reserved bytes mean nothing to SQLite.
int write_file_bytes(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 offset) {
  const Page page(static_cast<std::byte*>(const_cast<void*>(from)),
                  static_cast<std::size_t>(bytes));
  return without_exceptions([&] { return checked(file)->write(page, offset); });
}

int unlock_file(sqlite3_file* file, int level) {
  if (level <= SQLITE_LOCK_SHARED) checked(file)->end_transaction();
  return forward_file<&sqlite3_io_methods::xUnlock, int>(file, level);
}

int control_file(sqlite3_file* file, int opcode, void* argument) {
  return without_exceptions([&] { return checked(file)->control(opcode, argument); });
}

// A mapped page would be read without verification.
int fetch_nothing(sqlite3_file*, sqlite3_int64, int, void** page) {
  *page = nullptr;
  return SQLITE_OK;
}

int unfetch_nothing(sqlite3_file*, sqlite3_int64, void*) {
  return SQLITE_OK;
}

// Returns our methods over those of `base`, which may have no shared memory, as of "unix-none".
sqlite3_io_methods methods_over(const sqlite3_io_methods& base) {
  using Methods = sqlite3_io_methods;
  Methods ours{};
  ours.iVersion = std::min(base.iVersion, 3);
  ours.xClose = close_file;
  ours.xRead = read_file_bytes;
  ours.xWrite = write_file_bytes;
  ours.xTruncate = forward_file<&Methods::xTruncate>;
  ours.xSync = forward_file<&Methods::xSync>;
  ours.xFileSize = forward_file<&Methods::xFileSize>;
  ours.xLock = forward_file<&Methods::xLock>;
  ours.xUnlock = unlock_file;
  ours.xCheckReservedLock = forward_file<&Methods::xCheckReservedLock>;
  ours.xFileControl = control_file;
  ours.xSectorSize = forward_file<&Methods::xSectorSize>;
  ours.xDeviceCharacteristics = forward_file<&Methods::xDeviceCharacteristics>;
  ours.xFetch = fetch_nothing;
  ours.xUnfetch = unfetch_nothing;
  if (base.iVersion < 2 || base.xShmMap == nullptr) return ours;
  ours.xShmMap = forward_file<&Methods::xShmMap>;
  ours.xShmLock = forward_file<&Methods::xShmLock>;
  ours.xShmBarrier = forward_file<&Methods::xShmBarrier>;
  ours.xShmUnmap = forward_file<&Methods::xShmUnmap>;
  return ours;
}

int CheckedFile::open(sqlite3_vfs* base_vfs, const char* name, int flags, int* flags_out) {
  const int code = base_vfs->xOpen(base_vfs, name, base(), flags, flags_out);
  if (code != SQLITE_OK) return code;
  methods_ = methods_over(*base()->pMethods);
  pMethods = &methods_;
  learn_layout();
  return SQLITE_OK;
}

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* flags_out) {
  auto* base = static_cast<sqlite3_vfs*>(vfs->pAppData);
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) return base->xOpen(base, name, file, flags, flags_out);
  auto* ours = new (file) CheckedFile();  // SQLite closes it if it has methods, whatever we return
  const int code = without_exceptions([&] { return ours->open(base, name, flags, flags_out); });
  if (ours->pMethods == nullptr) ours->~CheckedFile();
  return code;
}

sqlite3_vfs vfs_over(const char* name, const char* base_name) {
  sqlite3_vfs* base = sqlite3_vfs_find(base_name);
  sqlite3_vfs ours{};
  ours.iVersion = std::min(base->iVersion, 3);
  ours.szOsFile = static_cast<int>(sizeof(CheckedFile)) + base->szOsFile;
  ours.mxPathname = base->mxPathname;
  ours.zName = name;
  ours.pAppData = base;
  ours.xOpen = open_file;
  ours.xDelete = forward_vfs<&sqlite3_vfs::xDelete>;
  ours.xAccess = forward_vfs<&sqlite3_vfs::xAccess>;
  ours.xFullPathname = forward_vfs<&sqlite3_vfs::xFullPathname>;
  ours.xDlOpen = forward_vfs<&sqlite3_vfs::xDlOpen>;
  ours.xDlError = forward_vfs<&sqlite3_vfs::xDlError>;
  ours.xDlSym = [](sqlite3_vfs* vfs, void* library, const char* symbol) {
    auto* under = static_cast<sqlite3_vfs*>(vfs->pAppData);
    return under->xDlSym(under, library, symbol);
  };
  ours.xDlClose = forward_vfs<&sqlite3_vfs::xDlClose>;
  ours.xRandomness = forward_vfs<&sqlite3_vfs::xRandomness>;
  ours.xSleep = forward_vfs<&sqlite3_vfs::xSleep>;
  ours.xCurrentTime = forward_vfs<&sqlite3_vfs::xCurrentTime>;
  ours.xGetLastError = forward_vfs<&sqlite3_vfs::xGetLastError>;
  ours.xCurrentTimeInt64 = forward_vfs<&sqlite3_vfs::xCurrentTimeInt64>;
  ours.xSetSystemCall = forward_vfs<&sqlite3_vfs::xSetSystemCall>;
  ours.xGetSystemCall = forward_vfs<&sqlite3_vfs::xGetSystemCall>;
  ours.xNextSystemCall = forward_vfs<&sqlite3_vfs::xNextSystemCall>;
  return ours;
}

}  // namespace

const char* page_checksum_vfs() {
  static const bool kIsRegistered = [] {
    static sqlite3_vfs locked{}, unlocked{};
    sqlite3_initialize();
    locked = vfs_over(kPageChecksumVfs, "unix");
    unlocked = vfs_over(kUnlockedPageChecksumVfs, "unix-none");
    return sqlite3_vfs_register(&locked, 0) == SQLITE_OK &&
           sqlite3_vfs_register(&unlocked, 0) == SQLITE_OK;
  }();
  (void)kIsRegistered;  // sqlite3_open_v2 says "no such vfs" if it is not
  return kPageChecksumVfs;
}

}  // namespace detol::inline knowledge::sqlite
