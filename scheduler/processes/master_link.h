#pragma once

// MasterLink: a worker's connection to its master. A thread of its own sends (heartbeats, answers,
// repeats what was not acknowledged, introduces itself again to a restarted master) while
// the worker's one other thread trains; every call of that thread blocks until it has its
// answer. The process ends (exit 75) if no master is heard for ten minutes.

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/result.h"
#include "scheduler/message.h"
#include "scheduler/processes/socket.h"

namespace detol::inline scheduler {

// MasterAddress says where the master is and which worker connects.
struct MasterAddress {
  std::string endpoint;
  CurveKeys keys = {};
  int worker = 0;
  int start = 1;                        // of this worker
  std::string key = {};                 // the run's, where no supervisor started this worker
  std::filesystem::path run_file = {};  // once it is gone the run is over; empty: not known
};

class MasterLink : public AlgorithmRecord {
 public:
  // Errors (kInternal): the endpoint cannot be used.
  static Result<std::unique_ptr<MasterLink>> open(const MasterAddress& address);
  ~MasterLink() override;

  // These return nothing after a Shutdown; a training is asked to suspend
  // then, and the process ends if it has not after five seconds.
  std::optional<message::Setup> join();
  std::optional<message::Train> next();

  void set_ready();
  Verdict report(const EpochReport& report);  // of the trial that next() gave
  void end(const Evaluation& evaluation, message::Ended::Trouble trouble);

  AlgorithmChoices known() override;
  std::optional<AlgorithmChoices> settle(const std::vector<TimedShape>& timed) override;

  // Heartbeats tell of its progress; a Suspend sets its other half.
  Control& control() { return control_; }

 private:
  MasterLink(Socket socket, MasterAddress address);

  void speak_or_end();
  void speak();
  void hear(const Message& message);
  void send_what_is_due(double now_s);
  void watch_progress(double now_s);
  bool is_run_over(double now_s) const;
  void shut_down();  // REQUIRES: mutex_ is held
  message::Hello hello() const;
  void post(Message message);  // to be sent, and again until it is answered

  const MasterAddress address_;
  Control control_;

  std::mutex mutex_;  // of everything below that both threads touch
  std::condition_variable changed_;
  bool ready_ = false;
  double ready_since_s_ = 0;
  bool is_ending_ = false;     // this object ends
  bool is_shut_down_ = false;  // by the master
  double shut_down_s_ = 0;
  std::optional<message::Setup> setup_;
  message::Train current_;                 // attempt 0: none
  message::Train finished_;                // the last one: a late repeat of it is dropped
  std::optional<message::Train> offered_;  // for next() to take
  std::optional<Message> unanswered_;
  std::optional<Verdict> verdict_;
  AlgorithmChoices choices_;  // of the study, as heard

  // Only the sending thread uses these.
  Socket socket_;
  bool is_introduced_ = false;  // said Hello since it became ready
  double said_s_ = -1e9;        // the last heartbeat or Hello
  double repeated_s_ = -1e9;    // the last time `unanswered_` was sent
  double heard_s_ = 0;
  std::uint64_t steps_ = 0;
  double stepped_s_ = 0;
  double slowest_s_ = 0;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace detol::inline scheduler
