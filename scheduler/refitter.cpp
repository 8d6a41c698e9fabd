#include "scheduler/refitter.h"

#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "core/log.h"

namespace detol::inline scheduler {
namespace {

Result<Refit> result_of(const RefitJob& job) {
  try {
    return job();
  } catch (const std::exception& error) {  // for example std::bad_alloc
    return fail(ErrorCode::kInternal, error.what());
  }
}

}  // namespace

// Thread runs one job on a thread of its own.
class Refitter::Thread {
 public:
  // Throws std::system_error if no thread can be started. REQUIRES: both arguments outlive this.
  Thread(const RefitJob& job, const std::function<void()>& wake)
      : thread_([this, &job, &wake] {
          Result<Refit> result = result_of(job);
          {
            const std::lock_guard lock(mutex_);
            result_ = std::move(result);
          }
          wake();
        }) {}

  std::optional<Result<Refit>> result() {
    const std::lock_guard lock(mutex_);
    return std::exchange(result_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::optional<Result<Refit>> result_;
  std::jthread thread_;  // declared last, so it ends first
};

Refitter::Refitter(Searcher& searcher, Refits refits, std::function<void()> wake)
    : searcher_(searcher), refits_(refits), wake_(std::move(wake)) {}

Refitter::~Refitter() = default;

std::optional<Refit> Refitter::next() {
  if (!job_) job_ = searcher_.background();
  if (!job_ || has_failed_) return std::nullopt;
  if (!is_at_work()) begin();
  std::optional<Result<Refit>> result = ended();
  if (!result) return std::nullopt;
  has_failed_ = !*result;
  if (has_failed_) {
    log_warning(
        "a model of the search was not fitted: {}; the search continues with the one before",
        result->error().message);
    return std::nullopt;
  }
  job_.reset();
  return **std::move(result);
}

void Refitter::begin() {
  if (refits_ == Refits::kAtOnce) {
    at_once_ = result_of(*job_);
    return;
  }
  try {
    thread_ = std::make_unique<Thread>(*job_, wake_);
  } catch (const std::exception& error) {
    at_once_ = fail(ErrorCode::kInternal, error.what());
  }
}

std::optional<Result<Refit>> Refitter::ended() {
  if (!is_at_work()) return std::exchange(at_once_, std::nullopt);
  std::optional<Result<Refit>> result = thread_->result();
  if (result) thread_.reset();
  return result;
}

}  // namespace detol::inline scheduler
