#pragma once

// Refits of the searcher `gp`. Beside the parameters, which the ledger records, a refit computes
// the processes of the model, so that using it costs an ask little. It is a job that any thread may
// run (searcher.h), or done in steps by the searcher itself.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/rng.h"
#include "search/gp_model.h"
#include "search/gp_options.h"
#include "search/searcher.h"
#include "surrogate/fit.h"

namespace detol::inline search {

// RefitInput: all that a refit depends on. `era` counts how often the searcher forgot what it had
// learned: processes of another era are not used.
struct RefitInput {
  std::string_view model;  // Refit::model
  std::uint64_t version = 0;
  int era = 0;
  std::shared_ptr<const Features> features;
  Observed observed;  // at least two
  std::vector<OutputFit> before;
  Points candidates;  // attached to the processes
  Rng rng;  // chooses what a fit uses, and the members, where there are more than can be afforded
};

// SteppedRefit: a refit in steps, so that no ask has to wait for all of it. Its result does not
// depend on the steps. Not thread-safe.
class SteppedRefit {
 public:
  explicit SteppedRefit(RefitInput input);

  // Goes on for about so many multiply-adds, by at least one evaluation of a fit or one process.
  // Returns true at the end.
  bool advance(double work);

  struct Refitted {
    ModelFit fit;
    std::vector<LazyGp> processes;
  };
  Refitted take() { return std::move(result_); }  // REQUIRES: advance() returned true

 private:
  bool advance_fit(double& work);
  void begin_fit();
  void begin_output();

  RefitInput in_;
  std::vector<std::size_t> chosen_;    // observations that the fits of an output use
  std::vector<OutputFit> candidates_;  // of these fits, one for each transform; the first goes on
  OutputFit output_;                   // the best of those that ended, or the kernel before
  double evidence_ = 0;                // for it
  std::optional<SteppedFit> stepped_;
  double evaluation_work_ = 0;
  int evaluations_ = 0;  // of the fit that goes on
  Refitted result_;
};

// GpRefits: the refits of one searcher, which it does itself or, once the caller takes jobs, gets
// back from it. Not thread-safe.
//
// A refit is due after the observations grew by a share, or when the innovations since the last one
// are no longer standard normal. With sources the first one is due sooner.
class GpRefits {
 public:
  // `name` and `options` outlive this.
  GpRefits(std::string_view name, const GpOptions& options, Rng rng)
      : name_(name), options_(options), rng_(rng) {}

  bool are_own() const { return are_own_; }

  // The searcher refits itself: after each observation it does a step of the refit that is due or
  // goes on. A step takes some 50 ms at most. Below some 300 observations a refit is one step; at
  // 1,000 it takes about five, and is then used with the observations known as it began. Does
  // nothing once the refits are the caller's. `failed` trials count as startup points, too.
  void advance(GpModel& model, std::size_t failed = 0);

  // The caller refits: job() returns a refit that is due, if none is out; use_last() uses the last
  // one absorbed as soon as the model has the observations that it was made of.
  void leave_to_caller();
  std::optional<RefitJob> job(GpModel& model, std::size_t failed = 0);
  void absorb(const Refit& refit);
  void use_last(GpModel& model);

  void forget();  // the model was made anew and has no observations

 private:
  bool is_due(GpModel& model, std::size_t failed) const;
  RefitInput input(const GpModel& model) const;

  std::string_view name_;
  const GpOptions& options_;
  Rng rng_;
  bool are_own_ = true;
  std::optional<SteppedRefit> stepped_;  // one that goes on
  bool is_job_out_ = false;
  Refit last_;                 // absorbed
  bool is_last_used_ = false;  // its prepared processes are gone
  std::uint64_t version_ = 0;  // of the last refit
  int era_ = 0;                // how often everything was forgotten
};

}  // namespace detol::inline search
