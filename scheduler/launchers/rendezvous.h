#pragma once

// Rendezvous: the file by which a worker that the supervisor did not start finds its master, maybe
// on another machine. It lies beside the storage, mode 0600: only processes of the same user can
// read it. It holds addresses, a port, the public half of the master's CURVE key (every message is
// encrypted) and the run's key, which a worker sends to be registered. The file exists from the
// first master's start to the end of the run.

#include <filesystem>
#include <optional>
#include <string>

#include "core/result.h"
#include "scheduler/processes/master_link.h"

namespace detol::inline scheduler {

struct RendezvousInfo {
  int port = 0;
  bool is_local = false;  // all workers are on this machine; no other machine reaches the port
  CurveKeys keys;
  std::string key;  // of the run
};

// Returns what all masters of a run publish; it is stored in the run's private folder. Errors:
// kInternal, kStorage.
Result<RendezvousInfo> rendezvous_info(const std::filesystem::path& run_folder, bool is_local);

// Returns the address on which the master listens.
std::string endpoint_of(const RendezvousInfo& rendezvous);

// Writes the rendezvous file, so that workers can join. Errors (kStorage): path and reason.
Result<void> publish(const RendezvousInfo& rendezvous, const std::filesystem::path& file);

// Tells waiting workers that the run is over, and removes the file. Takes a second.
void withdraw(const std::filesystem::path& file);

// Returns whether a master of the same user may have published this file.
bool is_rendezvous_file(const std::filesystem::path& file);

// Waits at most a minute for the master to publish; nullopt if none does or the run is over.
std::optional<MasterAddress> find_master(const std::filesystem::path& file, int worker);

}  // namespace detol::inline scheduler
