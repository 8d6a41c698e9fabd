#include "knowledge/storage/scoped_limits.h"

#include <sqlite3.h>

namespace detol::inline knowledge::sqlite {

using std::chrono::steady_clock;

ScopedLimits::ScopedLimits(sqlite3* database, std::int64_t bytes, double seconds)
    : database_(database), bytes_before_(sqlite3_hard_heap_limit64(-1)) {
  constexpr int kInstructions = 10000;  // between two readings of the clock
  if (bytes > 0) sqlite3_hard_heap_limit64(bytes);
  if (seconds <= 0) return;
  deadline_ = steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(
                                        std::chrono::duration<double>(seconds));
  sqlite3_progress_handler(database, kInstructions, &is_late, &deadline_);
}

ScopedLimits::~ScopedLimits() {
  sqlite3_progress_handler(database_, 0, nullptr, nullptr);
  sqlite3_hard_heap_limit64(bytes_before_);
}

int ScopedLimits::is_late(void* deadline) {
  return steady_clock::now() > *static_cast<steady_clock::time_point*>(deadline) ? 1 : 0;
}

}  // namespace detol::inline knowledge::sqlite
