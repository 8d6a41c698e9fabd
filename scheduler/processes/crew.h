#pragma once

// Crew: the workers of a run as the master keeps them: who lives, what each trains, since when
// its devices are held. It has them started and ended through the supervisor, replaces those
// that died (at growing intervals if they do not even become ready), and says what was lost
// with them. Workers that join from elsewhere have no supervisor: they live while they speak.
// Not thread-safe.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "scheduler/pool.h"

namespace detol {

struct CrewSettings {
  int workers = 1;       // numbered from 0
  int group_size = 1;    // ranks of each
  int gpus = 0;          // whose seats the ranks take in turn; 0: each has a device of its own
  int supervisor = -1;   // the socket to it
  std::string key = {};  // what workers that join know; empty: the supervisor starts them
  std::filesystem::path folder = {};  // the run's, where workers leave a word before they end
  std::optional<double> counted_until_s =
      {};  // device time before this is in the ledger; empty: now
};

struct Member {
  int start = 0;  // which start of this worker lives; 0: none does (yet)
  bool is_ready = false;
  std::string address;      // empty: it has not said Hello to this master
  message::Train train;     // attempt 0: free
  double lives_s = 0;       // since when it is known to live
  double sent_s = 0;        // when `train` was sent
  double heard_s = 0;       // its last message, or its start
  double ready_s = 0;       // device time counts from here
  std::string ended_why;    // this master ordered its end
  double start_s = 0;       // not before
  bool is_ordered = false;  // a start is under way
};

class Crew {
 public:
  Crew(CrewSettings settings, Clock& clock);

  std::map<int, Member>& members() { return members_; }
  bool joins() const { return !settings_.key.empty(); }
  Member* training(TrialId trial, int attempt);  // or nullptr

  // One turn: orders starts, hears the supervisor. What happened is added to `events`.
  void turn(std::vector<PoolEvent>& events);

  // The member that introduces itself, or nullptr with a reason in `why`.
  Member* welcome(const message::Hello& hello, std::vector<PoolEvent>& events, std::string& why);

  // Ends a worker's process; a Lost follows if it trains. One that joined is forgotten.
  void end(int number, std::string why, std::vector<PoolEvent>& events);

  void retire() { is_retired_ = true; }  // starts nobody any more
  double held_s() const;                 // see Pool

 private:
  void hear_supervisor(std::vector<PoolEvent>& events);
  void on_exit(int number, int status, std::vector<PoolEvent>& events);
  void on_failed_start(int number, int status, const std::string& why,
                       std::vector<PoolEvent>& events);
  bool has_gpu_left() const;
  std::vector<int> devices_of(int number) const;
  std::map<int, double> unsettled_s() const;  // by device, since it was settled
  void settle(int number);

  const CrewSettings settings_;
  Clock& clock_;
  std::map<int, Member> members_;  // by number
  bool is_retired_ = false;
  const double counted_until_s_;
  double held_s_ = 0;                      // as far as it is settled
  std::map<int, double> settled_until_s_;  // by device
  std::int64_t oom_kills_ = 0;
  int failed_starts_ = 0;  // in a row
  bool is_given_up_ = false;
  std::string first_reason_;  // of these
};

}  // namespace detol
