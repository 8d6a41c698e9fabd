#pragma once

// WorkerRegistry: the master's record of the workers of a run: which are running, what each trains,
// since when its devices are held. It starts and ends them through the supervisor, replaces those
// that died (at growing intervals if they do not even become ready), and reports the trials lost
// with them. Others join and leave: they have no supervisor here, and count as running while they
// send messages. Not thread-safe.

#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "scheduler/pool.h"

namespace detol::inline scheduler {

struct WorkerRegistrySettings {
  int workers = 1;                 // that the supervisor starts, numbered from 0
  int group_size = 1;              // ranks of each
  bool takes_other_sizes = false;  // of workers that join
  int gpus = 0;            // that these ranks share in turn; 0: each rank has a device of its own
  bool is_remote = false;  // a launcher such as srun starts these workers on other machines
  int supervisor = -1;     // the socket to it
  std::string key = {};    // shown by every worker; empty: none can join
  std::filesystem::path folder = {};  // the run's, where workers write their exit reason
  std::optional<double> counted_until_s =
      {};  // device time before this is in the ledger; empty: now
};

inline constexpr int kFirstJoined = 1 << 20;  // numbers below are for the supervisor's workers

// Worker is what the master knows of one worker.
struct Worker {
  int number = 0;        // once it has sent Hello
  int start_number = 0;  // of the start that runs; 0: none does (yet)
  bool is_ready = false;
  bool was_ready = false;    // at its last Hello
  std::string address;       // empty: it has not sent Hello to this master
  std::string id;            // of one that joined; empty: the supervisor starts it
  std::string name;          // for people; empty: it is on this machine
  std::vector<int> devices;  // of one that joined
  int ranks = 1;
  double memory = 0;                     // bytes; 0: unknown
  bool is_leaving = false;               // it takes no more trials
  message::Train train;                  // attempt 0: free
  std::pair<TrialId, int> stopped = {};  // by a verdict, and its attempt; (0, 0): none, or gone
  double alive_since_s = 0;              // known to run since then
  double sent_s = 0;                     // when `train` was sent
  double heard_s = 0;                    // its last message, or its start
  double ready_s = 0;                    // device time counts from here
  std::string kill_reason;               // why this master ended it; empty: it did not
  double next_start_s = 0;               // earliest time of the next start
  bool is_starting = false;              // a start was commanded

  bool has_joined() const { return !id.empty(); }
};

class WorkerRegistry {
 public:
  WorkerRegistry(WorkerRegistrySettings settings, Clock& clock);

  std::map<int, Worker>& workers() { return workers_; }
  Worker* training(TrialId trial, int attempt);  // or nullptr

  // Commands starts that are due and takes in what the supervisor sent. Adds what happened to
  // `events`.
  void turn(std::vector<PoolEvent>& events);

  // Registers the worker of a Hello; nullptr with a reason in `why` if it is not of this run.
  Worker* register_worker(const message::Hello& hello, std::vector<PoolEvent>& events,
                          std::string& why);

  // Returns whether the Hello is of a worker that the supervisor has replaced since.
  bool is_replaced(const message::Hello& hello) const;

  // Ends a worker's process; a Lost follows if it trains. One that joined is unregistered, as if
  // its process had ended with `status` (of waitpid): SIGKILL does not blame its trial. workers()
  // has it until the next turn().
  void end(int number, std::string why, std::vector<PoolEvent>& events, int status = SIGTERM);

  // Expects the workers that had joined an earlier master of this run.
  void expect_joined();

  void retire() { is_retired_ = true; }  // starts no worker until hire()
  void hire() { is_retired_ = false; }
  double held_s() const;       // see Pool
  int devices() const;         // see Pool
  int running() const;         // see Pool::workers
  double most_memory() const;  // see Pool

 private:
  Worker* join(const message::Hello& hello, std::vector<PoolEvent>& events);
  Worker* returned(const message::Hello& hello, std::string& why);
  void remember_joined() const;
  std::vector<int> joined_devices(const message::Hello& hello);
  void hear_supervisor(std::vector<PoolEvent>& events);
  void on_exit(int number, int status, std::vector<PoolEvent>& events);
  void on_failed_start(int number, int status, const std::string& why,
                       std::vector<PoolEvent>& events);
  bool may_be_one_devices_fault() const;
  std::vector<int> devices_of(int number) const;
  bool runs_or_will(const Worker& worker) const;
  std::map<int, double> uncounted_s() const;  // by device, since its time was last counted
  void count_devices(int number);

  const WorkerRegistrySettings settings_;
  Clock& clock_;
  std::map<int, Worker> workers_;            // by number
  std::unordered_map<TrialId, int> found_;   // where training() found a trial last
  std::map<std::string, int> joined_;        // numbers by id
  std::map<std::string, int> device_names_;  // the shared ones of workers that joined
  int next_joined_ = kFirstJoined;           // number
  int next_device_ = kFirstJoined;
  bool is_retired_ = false;
  const double counted_until_s_;
  double held_s_ = 0;                             // device time counted so far
  double most_memory_ = 0;                        // of a worker so far; 0: unknown
  std::map<int, double> device_counted_until_s_;  // by device
  std::int64_t oom_kills_ = 0;
  int failed_starts_ = 0;  // in a row
  bool has_given_up_ = false;
  bool has_been_ready_ = false;  // some worker
  std::string first_reason_;     // of these failed starts
};

}  // namespace detol::inline scheduler
