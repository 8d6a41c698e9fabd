#pragma once

// Pool: the workers, as the driver sees them: which are free, what happened, and commands to them.
// WorkerPool (worker_pool.h) talks to processes; tests use a fake in virtual time.

#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "knowledge/states.h"
#include "scheduler/message.h"

namespace detol::inline scheduler {

// A worker that can take a trial, or somebody who asked for one.
struct Slot {
  int worker = 0;
  std::string name;                                         // for the ledger
  int group_size = 1;                                       // ranks, with a device each
  double memory = std::numeric_limits<double>::infinity();  // bytes for what it trains
  std::optional<Genome> wish = {};  // it takes this candidate, which the searcher did not propose
};

// A trial that a worker was already training when this master started.
struct Claim {
  TrialId trial = 0;
  int attempt = 0;
};

// A worker died, or was ended because it was silent or hung, while it trained this trial.
struct Lost {
  TrialId trial = 0;
  int attempt = 0;
  RequeueReason reason;     // kLost, kCrashed (also if it hung) or kOutOfMemory
  bool by_sigkill = false;  // and not by us: from outside, or by a watcher of memory
};

// Who asked for this trial says that it is complete, with these metrics; none: as it reported last.
struct Scored {
  TrialId trial = 0;
  int attempt = 0;
  std::vector<Metric> metrics = {};
  bool is_early = false;  // it was ended before its full length
};

// A user asked the run to stop.
struct StopRequest {};

// No worker can be started: the study cannot run here.
struct Unusable {
  Error error;
};

using PoolEvent = std::variant<message::Report, message::Timed, message::Ended, Scored, Lost,
                               StopRequest, Unusable>;

class Pool {
 public:
  virtual ~Pool() = default;

  // Returns what workers that outlived an earlier master are training. Called once, before free().
  virtual std::vector<Claim> claims() = 0;

  virtual std::vector<Slot> free() = 0;

  // Returns the worker that trains this attempt, if it can take another trial once it is free.
  virtual std::optional<Slot> slot_after(TrialId trial, int attempt) = 0;

  // REQUIRES: the worker is free.
  virtual void start(int worker, const message::Train& train) = 0;

  // Tells a slot with a wish that its candidate became this trial, which needs no evaluation.
  virtual void decline(int /*worker*/, TrialId /*trial*/) {}

  // Tells the worker that its Report, its Ended or its Scored is durable. An EndAck, and a
  // ReportAck with Verdict::kStop, free the worker.
  virtual void acknowledge(const message::ReportAck& ack) = 0;
  virtual void acknowledge(const message::EndAck& ack) = 0;

  // Sends the algorithm choices that the study has recorded to every worker, also to those that
  // join later. This answers a Timed.
  virtual void broadcast(const AlgorithmChoices& /*choices*/) {}

  // Ends the training of this trial, by ending the worker if necessary; no Lost follows.
  virtual void drop(TrialId trial) = 0;

  // Makes every training write a checkpoint at its next step and end: an Ended with End::kSuspended
  // follows. Repeated calls reach workers that missed an earlier one.
  virtual void suspend() = 0;

  // Ends the workers that are free and starts no new ones. Called again when others become free.
  virtual void retire() = 0;

  // Starts workers again in place of those that retire() ended, or did not replace.
  virtual void hire() = 0;

  // Returns whether the trial goes on when the run ends: neither its process nor its worker is this
  // run's.
  virtual bool outlives(TrialId) const { return false; }

  // Returns the events since the last call; waits for the first, at most a second or `at_most_s`.
  virtual std::vector<PoolEvent> wait(double at_most_s) = 0;

  // Ends the current wait(), or else the next. From any thread.
  virtual void wake() {}

  // Returns the device seconds held by live workers, from ready to their end, since the pool began;
  // a group of g ranks holds g devices, and a device that several workers share counts once.
  virtual double held_s() = 0;

  // Returns the number of devices that workers hold or will soon: held_s() grows by at most so much
  // in a second.
  virtual int devices() = 0;

  // Returns the number of workers that run, or will soon.
  virtual int workers() = 0;

  // Returns the largest memory of a worker that this run has had.
  virtual double most_memory() = 0;
};

}  // namespace detol::inline scheduler
