#pragma once

// The protocol of supervisor and master: commands one way, events the other, one struct per packet
// of a SOCK_SEQPACKET socketpair. Both ends are the same program.

#include <cstdint>
#include <optional>

namespace detol::inline scheduler {
namespace supervisor {

// Command goes from master to supervisor.
struct Command {
  enum Kind : std::int32_t {
    kStart,     // start worker `worker`, which is not running
    kKill,      // kill worker `worker` with all its ranks
    kAlive,     // the master is not hung
    kProgress,  // a worker's report is durable: earlier deaths of the master no longer count
  } kind = kStart;
  std::int32_t worker = 0;
};

// Event goes from supervisor to master.
struct Event {
  enum Kind : std::int32_t {
    kStarted,        // worker `worker` runs as start `start`; sent again to each new master
    kExited,         // worker `worker` ended with this status, as waitpid gives it
    kStopRequested,  // a user asked the run to stop
  } kind = kStarted;
  std::int32_t worker = 0;
  std::int32_t start = 0;  // from 1, different for every start of a run
  std::int32_t status = 0;
};

}  // namespace supervisor

// Returns whether the packet was sent. Never blocks.
bool send_packet(int socket, const supervisor::Command& command);
bool send_packet(int socket, const supervisor::Event& event);

// Returns the next packet, or nullopt if there is none now. Never blocks.
std::optional<supervisor::Command> next_command(int socket);
std::optional<supervisor::Event> next_event(int socket);

}  // namespace detol::inline scheduler
