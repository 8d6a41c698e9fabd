#include "knowledge/storage/writer_lock_file.h"

#include <fmt/format.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/descriptor.h"
#include "core/file.h"
#include "core/host.h"
#include "core/json_text.h"
#include "knowledge/storage/file_system.h"

namespace detol::inline knowledge {
namespace {

using nlohmann::json;

struct flock lock_of(short type, ByteRange bytes) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = bytes.start;
  lock.l_len = bytes.length;
  return lock;
}

std::string field(const json& holder, const char* key, const std::string& otherwise) {
  const auto found = holder.find(key);
  return found != holder.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

// Span: bytes from `begin` to before `end`.
struct Span {
  off_t begin = 0, end = 0;
};

Span span_of(const struct flock& lock) {
  constexpr off_t kInfinity = std::numeric_limits<off_t>::max();
  return {lock.l_start, lock.l_len == 0 ? kInfinity : lock.l_start + lock.l_len};
}

// Adds the studies whose slots are in a locked part of the file.
void add_studies(int file, Span locked, std::vector<Writer>& writers) {
  for (Slot slot = locked.begin / kSlotSize; slot * kSlotSize < locked.end; ++slot) {
    writers.push_back(read_slot(file, slot).writer);
    writers.back().study_id = slot;
  }
}

// Finds the locked slots of studies. The kernel names any lock in a part of the file, not the first
// of them, so that the parts before and after it have to be searched, too.
Result<std::vector<Writer>> find_writers(int file, const std::string& path) {
  std::vector<Writer> writers;
  std::vector<Span> unknown = {{kSlotSize, kQueueByte}};
  while (!unknown.empty()) {
    const Span part = unknown.back();
    unknown.pop_back();
    struct flock lock = lock_of(F_WRLCK, {part.begin, part.end - part.begin});
    if (::fcntl(file, F_OFD_GETLK, &lock) != 0)
      return cannot("examine the lock of", path, ErrorCode::kStorage);
    if (lock.l_type == F_UNLCK) continue;
    Span locked = span_of(lock);
    if (locked.end >= kQueueByte) return std::vector{read_slot(file, 0).writer};
    locked = {std::max(locked.begin, part.begin), std::min(locked.end, part.end)};
    add_studies(file, locked, writers);
    if (part.begin < locked.begin) unknown.push_back({part.begin, locked.begin});
    if (locked.end < part.end) unknown.push_back({locked.end, part.end});
  }
  std::ranges::sort(writers, {}, &Writer::study_id);
  return writers;
}

// Opens the lock's file for reading; its descriptor is negative if there is none.
Result<Descriptor> open_lock(const std::string& path) {
  DETOL_TRY(check_regular_file(path, ErrorCode::kStorage));
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (file.get() < 0 && errno != ENOENT) return cannot("read", path, ErrorCode::kStorage);
  return file;
}

std::string lock_path(const std::filesystem::path& database) {
  return real_path(database).string() + ".lock";
}

int wake_up_signal() {
  return SIGRTMIN + 8;
}

bool install_wake_ups() {
  struct sigaction action {};
  action.sa_handler = [](int) {};  // and no SA_RESTART
  return ::sigaction(wake_up_signal(), &action, nullptr) == 0;
}

// WakeUps: while one lives, blocking calls of this thread return with EINTR, first after limit_s
// seconds, then every second, in case that the first signal came before the call.
class WakeUps {
 public:
  explicit WakeUps(double limit_s) {
    static const bool kIsInstalled = install_wake_ups();
    struct sigevent event {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = wake_up_signal();
    event._sigev_un._tid = ::gettid();
    has_timer_ = kIsInstalled && ::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
    if (!has_timer_) return;  // then the wait has no end
    constexpr double kNanoseconds = 1e9;
    const auto limit_ns = static_cast<std::int64_t>(limit_s * kNanoseconds) + 1;
    struct itimerspec times {};
    times.it_interval.tv_sec = 1;
    times.it_value.tv_sec = limit_ns / 1'000'000'000;
    times.it_value.tv_nsec = limit_ns % 1'000'000'000;
    ::timer_settime(timer_, 0, &times, nullptr);
  }
  WakeUps(const WakeUps&) = delete;
  WakeUps& operator=(const WakeUps&) = delete;
  ~WakeUps() {
    if (has_timer_) ::timer_delete(timer_);
  }

 private:
  timer_t timer_{};
  bool has_timer_ = false;
};

// Returns true if the process is stopped, by a signal or a debugger.
bool is_stopped(int pid) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid));
  const std::size_t end = stat ? stat->rfind(") ") : std::string::npos;
  const char state = end == std::string::npos ? '?' : (*stat)[end + 2];
  return state == 'T' || state == 't';
}

}  // namespace

int set_lock(int file, short type, ByteRange bytes) {
  struct flock lock = lock_of(type, bytes);
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
}

int wait_for_lock(int file, short type, ByteRange bytes, double limit_s) {
  using Clock = std::chrono::steady_clock;
  if (const int error = set_lock(file, type, bytes); !is_held_by_another(error)) return error;
  const auto limit = Clock::now() + std::chrono::duration<double>(limit_s);
  const WakeUps wake_ups(limit_s);
  struct flock lock = lock_of(type, bytes);
  while (::fcntl(file, F_OFD_SETLKW, &lock) != 0) {
    if (errno != EINTR) return errno;
    if (Clock::now() >= limit) return ETIMEDOUT;
  }
  return 0;
}

std::optional<Writer> stopped_writer(int file, const std::string& path) {
  const auto writers = find_writers(file, path);
  if (!writers) return std::nullopt;
  for (const Writer& writer : *writers) {
    if (writer.host == host_name() && is_stopped(writer.pid)) return writer;
  }
  return std::nullopt;
}

bool would_be_refused(int file, short type, ByteRange bytes) {
  struct flock lock = lock_of(type, bytes);
  return ::fcntl(file, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

LockHolder read_slot(int file, Slot slot) {
  std::array<char, kSlotSize> text{};
  const auto size = ::pread(file, text.data(), text.size(), slot * kSlotSize);
  const json parsed =
      json_or_discarded({text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))});
  const json holder = parsed.is_object() ? parsed : json::object();
  LockHolder found;
  found.writer.host = field(holder, "host", found.writer.host);
  if (const auto pid = holder.find("pid"); pid != holder.end() && pid->is_number_integer())
    found.writer.pid = pid->get<int>();
  found.writer.since = field(holder, "since", found.writer.since);
  found.writer.study = field(holder, "study", "");
  found.token = field(holder, "token", "");
  return found;
}

bool write_slot(int file, Slot slot, const LockHolder& holder) {
  const Writer& writer = holder.writer;
  const json fields{{"host", writer.host},
                    {"pid", writer.pid},
                    {"since", writer.since},
                    {"study", writer.study},
                    {"token", holder.token}};
  // Padded, so that one write replaces all of a slot, even on a full disk.
  std::string text = compact(fields);
  text.resize(kSlotSize - 1, ' ');
  text.push_back('\n');
  const auto written = ::pwrite(file, text.data(), text.size(), slot * kSlotSize);
  if (written >= 0 && written < static_cast<ssize_t>(text.size())) errno = ENOSPC;
  return written == static_cast<ssize_t>(text.size());
}

std::string describe_holder(const Writer& writer) {
  if (writer.study.empty()) return to_text(writer);
  return fmt::format("{}, which runs study '{}'", to_text(writer), writer.study);
}

std::string to_text(const Writer& writer) {
  return fmt::format("process {} on host {} since {}", writer.pid, writer.host, writer.since);
}

Result<std::vector<Writer>> current_writers(const std::filesystem::path& database) {
  const std::string path = lock_path(database);
  DETOL_ASSIGN(const Descriptor file, open_lock(path));
  if (file.get() < 0) return std::vector<Writer>();
  return find_writers(file.get(), path);
}

Result<std::optional<Writer>> current_writer(const std::filesystem::path& database) {
  const std::string path = lock_path(database);
  DETOL_ASSIGN(const Descriptor file, open_lock(path));
  if (file.get() < 0) return std::optional<Writer>();
  DETOL_ASSIGN(const auto writers, find_writers(file.get(), path));
  if (!writers.empty()) return writers.front();
  const bool is_open = would_be_refused(file.get(), F_WRLCK, slot_in_lock(0));
  return is_open ? std::optional(read_slot(file.get(), 0).writer) : std::nullopt;
}

}  // namespace detol::inline knowledge
