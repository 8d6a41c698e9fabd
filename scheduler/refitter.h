#pragma once

// Refitter: runs the slow jobs of a searcher (fits of its model) one after the other, and wakes its
// owner when a result is ready. A job that fails, for example for lack of memory, is run again
// after the next outcome: until then the searcher keeps the model it has. Not thread-safe; a job on
// a thread of its own does not access the Refitter.

#include <functional>
#include <memory>
#include <optional>

#include "search/searcher.h"

namespace detol::inline scheduler {

// Refits says where a searcher's slow jobs run.
enum class Refits {
  kAtOnce,  // in the caller's thread, before the next ask; for virtual time
  kBeside,  // on a thread
};

class Refitter {
 public:
  // `wake` is called on the thread of a job when its result is ready. REQUIRES: the searcher
  // outlives this.
  Refitter(Searcher& searcher, Refits refits, std::function<void()> wake);
  ~Refitter();  // waits for the job that is running

  // Returns a result that is ready, if any, which the caller records and absorbs before it calls
  // this again. Begins a job that is due.
  std::optional<Refit> next();

  // Makes a failed job due again, because a trial was told.
  void retry_failed_job() { has_failed_ = false; }

  bool is_at_work() const { return thread_ != nullptr; }

 private:
  class Thread;
  void begin();
  std::optional<Result<Refit>> ended();

  Searcher& searcher_;
  const Refits refits_;
  const std::function<void()> wake_;
  std::optional<RefitJob> job_;           // taken from the searcher, its result not returned yet
  bool has_failed_ = false;               // the last run of job_ failed
  std::optional<Result<Refit>> at_once_;  // the result of a job that ran without a thread
  std::unique_ptr<Thread> thread_;        // while the job runs; declared last, so it ends first
};

}  // namespace detol::inline scheduler
