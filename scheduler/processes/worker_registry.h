#pragma once

// WorkerRegistry: the master's record of the workers of a run: which are running, what each trains,
// since when its devices are held. It starts and ends them through the supervisor, replaces those
// that died (at growing intervals if they do not even become ready), and reports the trials lost
// with them. Workers that join from elsewhere have no supervisor: they count as running while they
// send messages. Not thread-safe.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "scheduler/pool.h"

namespace detol::inline scheduler {

struct WorkerRegistrySettings {
  int workers = 1;       // numbered from 0
  int group_size = 1;    // ranks of each
  int gpus = 0;          // that the ranks share in turn; 0: each rank has a device of its own
  int supervisor = -1;   // the socket to it
  std::string key = {};  // shown by workers that join; empty: the supervisor starts them
  std::filesystem::path folder = {};  // the run's, where workers write their exit reason
  std::optional<double> counted_until_s =
      {};  // device time before this is in the ledger; empty: now
};

// Worker is what the master knows of one worker.
struct Worker {
  int start_number = 0;  // of the start that runs; 0: none does (yet)
  bool is_ready = false;
  std::string address;       // empty: it has not sent Hello to this master
  message::Train train;      // attempt 0: free
  double alive_since_s = 0;  // known to run since then
  double sent_s = 0;         // when `train` was sent
  double heard_s = 0;        // its last message, or its start
  double ready_s = 0;        // device time counts from here
  std::string kill_reason;   // why this master ended it; empty: it did not
  double next_start_s = 0;   // earliest time of the next start
  bool is_starting = false;  // a start was commanded
};

class WorkerRegistry {
 public:
  WorkerRegistry(WorkerRegistrySettings settings, Clock& clock);

  std::map<int, Worker>& workers() { return workers_; }
  bool workers_join() const { return !settings_.key.empty(); }  // no supervisor starts them
  Worker* training(TrialId trial, int attempt);                 // or nullptr

  // Commands starts that are due and takes in what the supervisor sent. Adds what happened to
  // `events`.
  void turn(std::vector<PoolEvent>& events);

  // Registers the worker of a Hello; nullptr with a reason in `why` if it is not of this run.
  Worker* register_worker(const message::Hello& hello, std::vector<PoolEvent>& events,
                          std::string& why);

  // Ends a worker's process; a Lost follows if it trains. A worker that joined is unregistered.
  void end(int number, std::string why, std::vector<PoolEvent>& events);

  void retire() { is_retired_ = true; }  // starts no worker any more
  double held_s() const;                 // see Pool
  int devices() const;                   // see Pool

 private:
  void hear_supervisor(std::vector<PoolEvent>& events);
  void on_exit(int number, int status, std::vector<PoolEvent>& events);
  void on_failed_start(int number, int status, const std::string& why,
                       std::vector<PoolEvent>& events);
  bool has_gpu_left() const;
  std::vector<int> devices_of(int number) const;
  std::map<int, double> uncounted_s() const;  // by device, since its time was last counted
  void count_devices(int number);

  const WorkerRegistrySettings settings_;
  Clock& clock_;
  std::map<int, Worker> workers_;  // by number
  bool is_retired_ = false;
  const double counted_until_s_;
  double held_s_ = 0;                             // device time counted so far
  std::map<int, double> device_counted_until_s_;  // by device
  std::int64_t oom_kills_ = 0;
  int failed_starts_ = 0;  // in a row
  bool has_given_up_ = false;
  std::string first_reason_;  // of these failed starts
};

}  // namespace detol::inline scheduler
