#pragma once

// Rendezvous: how a worker that nobody here started finds its master, maybe on another machine:
// a file beside the storage, mode 0600, that processes of the same user read. It holds addresses, a
// port, the public half of the master's CURVE key (everything that is said is encrypted) and the
// run's key, which a worker shows to be let in. It is there from the first master's start to the
// end of the run.

#include <filesystem>
#include <optional>
#include <string>

#include "core/result.h"
#include "scheduler/processes/master_link.h"

namespace detol {

struct Meeting {
  int port = 0;
  bool is_local = false;  // all workers are on this machine: nobody else reaches the port
  CurveKeys keys;
  std::string key;  // of the run
};

// The same for every master of a run: kept in its private folder. Errors: kInternal, kStorage.
Result<Meeting> meeting_of(const std::filesystem::path& run_folder, bool is_local);

// Where the master listens.
std::string endpoint_of(const Meeting& meeting);

// Lets workers come. Errors (kStorage): path and reason.
Result<void> publish(const Meeting& meeting, const std::filesystem::path& file);

// Tells workers that still wait that the run is over, and removes the file. Takes a second.
void call_off(const std::filesystem::path& file);

// True if a master of the same user may have published it.
bool is_invitation(const std::filesystem::path& file);

// Waits for the master to publish, at most a minute; nullopt: there is none, or no more.
std::optional<MasterAddress> find_master(const std::filesystem::path& file, int worker);

}  // namespace detol
