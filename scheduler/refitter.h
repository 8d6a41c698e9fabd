#pragma once

// Refitter: does a searcher's slow work, one job after the other, and says when a result is there.
// A job that fails (there was no memory for it) is tried again when there are news: until then the
// searcher keeps the model it has. Not thread-safe; jobs on a thread of their own see nothing of
// it.

#include <functional>
#include <memory>
#include <optional>

#include "search/searcher.h"

namespace detol::inline scheduler {

// Refits says where a searcher's slow work is done, and whether an ask waits for it.
enum class Refits {
  kAtOnce,      // in the caller's thread, before the next ask: in virtual time
  kBeforeAsks,  // on a thread; the next ask waits, nothing else does
  kMeanwhile,   // on a thread; nothing waits
};

class Refitter {
 public:
  // `wake` is called whenever a result has come, from any thread. REQUIRES: the searcher outlives
  // this.
  Refitter(Searcher& searcher, Refits refits, std::function<void()> wake);
  ~Refitter();  // waits for the job that is running

  // A result that has come, for the caller to record and to absorb before it calls this again.
  // Begins what is due.
  std::optional<Refit> next();

  // A trial was told: what failed is due again.
  void hear_news() { has_failed_ = false; }

  bool is_at_work() const { return thread_ != nullptr; }
  bool holds_asks() const { return refits_ == Refits::kBeforeAsks && is_at_work(); }

 private:
  class Thread;
  void begin();
  std::optional<Result<Refit>> ended();

  Searcher& searcher_;
  const Refits refits_;
  const std::function<void()> wake_;
  std::optional<RefitJob> job_;           // handed out, its result not there yet
  bool has_failed_ = false;               // the job
  std::optional<Result<Refit>> at_once_;  // without a thread
  std::unique_ptr<Thread> thread_;        // while the job runs; last, as it ends first
};

}  // namespace detol::inline scheduler
