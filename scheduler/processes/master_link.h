#pragma once

// MasterLink: a worker's connection to its master. A thread of its own sends heartbeats, repeats
// what was not acknowledged and sends Hello to a restarted master, while the worker's one other
// thread trains; a call of that thread blocks until it has its answer. The process ends (exit 75)
// if it receives nothing from a master for ten minutes. A worker that was asked to leave
// (signals.h) suspends its trial, hands it back and is shut down by the master; it ends after 20 s
// in any case.

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/result.h"
#include "scheduler/message.h"
#include "scheduler/processes/socket.h"
#include "trainer/evaluator.h"

namespace detol::inline scheduler {

// MasterAddress says where the master is and which worker connects.
struct MasterAddress {
  std::string endpoint;
  CurveKeys keys = {};
  int worker = 0;
  int start = 1;                        // number of this worker's start
  std::string key = {};                 // the run's key
  std::filesystem::path run_file = {};  // the run is over once this file is gone; empty: unknown
  std::string process = {};             // which one has published that file; empty: unknown
  std::string id = {};                  // these six: see message::Hello
  std::string name = {};
  int ranks = 1;
  std::vector<std::string> devices = {};
  double memory = 0;
  int previous_status = 0;
  int program_threads = 1;  // see TrainerOptions
  bool is_replaced = true;  // another process takes this one's place when it ends
};

class MasterLink : public AlgorithmRecord {
 public:
  // Errors (kInternal): the endpoint cannot be used.
  static Result<std::unique_ptr<MasterLink>> open(const MasterAddress& address);
  ~MasterLink() override;

  // These return nullopt after a Shutdown. A training then gets a suspend request, and the process
  // ends if it still runs after five seconds.
  std::optional<message::Setup> join();
  std::optional<message::Train> next();

  void set_ready();
  // Of the trial that next() gave. One that others follow at once is kept for them.
  Verdict report(const EpochReport& report, bool more);
  // Ends the trial that next() gave. Where a verdict has, it says once that nothing of the trial is
  // left, unless the next one is there, and does not wait.
  void end(const Evaluation& evaluation, message::Ended::Trouble trouble);

  AlgorithmChoices known() override;
  std::optional<AlgorithmChoices> settle(const std::vector<TimedShape>& timed) override;

  // Heartbeats report its `progress`; a Suspend sets its `suspend`.
  Control& control() { return control_; }

 private:
  MasterLink(Socket socket, MasterAddress address);

  void run_loop_or_exit();
  void run_loop();
  void on_message(const Message& message);
  void send_what_is_due(double now_s);
  void watch_progress(double now_s);
  bool is_run_over(double now_s) const;
  void leave_if_asked(double now_s);  // REQUIRES: mutex_ is held
  void shut_down();                   // REQUIRES: mutex_ is held
  message::Hello hello() const;
  void post(Message message);  // sends it, again and again until it is answered
  void send_unanswered();
  void finish_current();  // REQUIRES: mutex_ is held

  const MasterAddress address_;
  Control control_;

  std::mutex mutex_;  // guards everything below that both threads use
  std::condition_variable changed_;
  bool ready_ = false;
  double ready_since_s_ = 0;
  bool is_ending_ = false;     // the destructor was called
  bool is_shut_down_ = false;  // by a Shutdown, or because the run is over
  double shut_down_s_ = 0;
  std::optional<double> leaves_since_s_;
  std::optional<message::Setup> setup_;
  message::Train current_;                  // attempt 0: none; of next(), or what follows it
  std::optional<message::Ended> farewell_;  // says once that a trial which a verdict ended is gone
  message::Train finished_;                 // the last one: a late repeat of its Train is dropped
  std::optional<message::Train> offered_;   // for next() to take
  std::optional<Message> unanswered_;
  std::vector<message::Report> group_;  // the reports before the unanswered one, sent with it
  std::optional<Verdict> verdict_;
  bool is_stopped_ = false;   // the trial that next() gave, by a verdict
  AlgorithmChoices choices_;  // of the study, as received

  // Only the sending thread uses these.
  Socket socket_;
  bool is_introduced_ = false;       // sent Hello since it became ready
  double last_heartbeat_s_ = -1e9;   // time of the last heartbeat or Hello
  double unanswered_sent_s_ = -1e9;  // the last time `unanswered_` was sent; -1e9: send it now
  double last_received_s_ = 0;
  std::uint64_t steps_ = 0;
  double stepped_s_ = 0;
  double slowest_s_ = 0;

  std::thread thread_;  // declared last: it uses all of the above
};

}  // namespace detol::inline scheduler
