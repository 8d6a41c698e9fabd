#pragma once

// Rendezvous: the file by which a worker finds its master, maybe on another machine. One lies in
// the artefact folder of every study that runs, for `detol worker`; one beside the storage is for
// the ranks of an MPI job. Mode 0600: only processes of the same user can read it. It holds the
// master's socket, addresses and a port, the public half of the master's CURVE key (every message
// over TCP is encrypted), the run's key, which a worker sends to be registered, and what a worker
// must agree with. The file exists from the first master's start to the end of the run.

#include <filesystem>
#include <optional>
#include <string>

#include "core/result.h"
#include "scheduler/processes/master_link.h"

namespace detol::inline scheduler {

// Reach says from where workers can join a run.
enum class Reach {
  kSocket,    // from this machine, by the Unix socket in the run's private folder
  kLoopback,  // the same, and by TCP over the loopback device
  kNetwork    // from every machine that sees the storage
};

struct RendezvousInfo {
  Reach reach = Reach::kSocket;
  std::string socket;              // of the master, for workers of this machine
  int port = 0;                    // TCP; 0: none
  CurveKeys keys;                  // empty without a port
  std::string key;                 // of the run
  int group_size = 1;              // ranks of each worker
  bool takes_other_sizes = false;  // of workers that join
  std::string backend;             // that trains
  std::string host;                // where the master is
  bool is_here = true;             // the master is on this machine
  bool runs_programs = false;      // a worker is one process, whose programs have group_size ranks
  bool comes_back = true;          // a supervisor starts it again if it is killed
};

// Returns what all masters of a run publish; it is stored in the run's private folder, where later
// calls read it, whatever `reach` they pass. Errors: kInternal, kStorage.
Result<RendezvousInfo> rendezvous_info(const std::filesystem::path& run_folder, Reach reach);

// Returns the address on which the master listens for TCP; empty if it does not.
std::string tcp_endpoint_of(const RendezvousInfo& rendezvous);

// Writes the rendezvous file, so that workers can join. Errors (kStorage): path and reason.
Result<void> publish(const RendezvousInfo& rendezvous, const std::filesystem::path& file);

// Tells waiting workers that the run is over, and removes the file. Takes a second.
void withdraw(const std::filesystem::path& file);

// Removes the file if the run of this folder published it, and its folder if that is empty.
void remove_published(const std::filesystem::path& run_folder, const std::filesystem::path& file);

// Returns whether a master of the same user may have published this file.
bool is_rendezvous_file(const std::filesystem::path& file);

// Returns what a file of this user says of a run, without its secrets; nullopt if there is none, or
// the run is over.
std::optional<RendezvousInfo> read_rendezvous(const std::filesystem::path& file);

// Returns where the master that has published the file answers now; nullopt if none does. The
// address has no worker's number or id.
std::optional<MasterAddress> master_now(const std::filesystem::path& file);

// Returns whether no other process has published the file since this master did. A master that is
// started again has the key and the socket of the one before.
bool is_the_last(const MasterAddress& master);

// Waits until a master has published the file and answers; nullopt if none does in `wait_s`, or the
// run is over. The address has no worker's number or id.
std::optional<MasterAddress> find_master(const std::filesystem::path& file, double wait_s = 60);

}  // namespace detol::inline scheduler
