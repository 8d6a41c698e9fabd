#pragma once

// Outbox: the events of a turn and the messages that follow from them. The events become durable
// together, with write(); only then do the messages leave, with send(), so that a kill at any
// instant loses nothing that a worker or a user has been told. On a full disk all of them wait for
// the next turn. Not thread-safe.

#include <string>
#include <utility>
#include <vector>

#include "scheduler/driver_parts.h"

namespace detol::inline scheduler {

class Outbox {
 public:
  // The parts outlive this object.
  explicit Outbox(const DriverParts& parts) : parts_(parts) {}

  // Sets the time from which is_due() counts.
  void begin() { committed_s_ = parts_.clock.now_s(); }

  // Takes what is to become durable. The event has been applied to the state.
  void add(Event event) { batch_.push_back(std::move(event)); }
  void add(Fact fact) { facts_.push_back(std::move(fact)); }

  // Takes what is to be sent.
  void acknowledge(const message::ReportAck& ack) { report_acks_.push_back(ack); }
  void acknowledge(const message::EndAck& ack) { end_acks_.push_back(ack); }
  void broadcast(const std::string& shape, const std::string& algorithm) {
    chosen_.algorithms.emplace(shape, algorithm);
  }
  void start(int worker, message::Train train) { starts_.push_back({worker, std::move(train)}); }
  void decline(int worker, TrialId trial) { declined_.emplace_back(worker, trial); }
  void answer(const RunRequest& request) { answered_.push_back(request); }

  // Returns the workers that are free, and those that send() frees, in the order of their numbers.
  std::vector<Slot> slots_after_commit() const;

  // Returns whether there is anything to write: events, or time that was used.
  bool is_due() const;

  // Removes the account of the time used, if it is the last event: a full disk has left it.
  void remove_account();

  // Makes the events durable. Returns false if they wait for the disk. Errors: of the ledger.
  Result<bool> write();

  // Sends the messages, then shows the durable events to the observers.
  void send(const StudyState& state);

  // Returns whether events wait for the disk.
  bool is_paused() const { return is_paused_; }

 private:
  struct Start {
    int worker = 0;
    message::Train train;
  };

  const DriverParts& parts_;
  std::vector<Event> batch_;
  std::vector<Fact> facts_;
  AlgorithmChoices chosen_;  // in answer to Timed
  std::vector<message::ReportAck> report_acks_;
  std::vector<message::EndAck> end_acks_;
  std::vector<RunRequest> answered_;
  std::vector<Start> starts_;
  std::vector<std::pair<int, TrialId>> declined_;  // slots whose wish needs no evaluation
  double committed_s_ = 0;
  bool is_paused_ = false;
};

}  // namespace detol::inline scheduler
