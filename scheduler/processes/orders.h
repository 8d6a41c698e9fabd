#pragma once

// What master and supervisor say to each other, one struct per packet of a SOCK_SEQPACKET
// socketpair. Both ends are the same program.

#include <cstdint>
#include <optional>

namespace detol {

// Master to supervisor.
struct Order {
  enum Kind : std::int32_t {
    kStart,     // worker `worker`, which does not live
    kKill,      // worker `worker` with all its ranks, now
    kAlive,     // the master: not hung
    kProgress,  // a worker's report is durable: earlier deaths of the master are forgiven
  } kind = kStart;
  std::int32_t worker = 0;
};

// Supervisor to master.
struct Notice {
  enum Kind : std::int32_t {
    kLives,   // worker `worker` was started, as start number `start`: then, and to a new master
    kExited,  // with this status, as waitpid gives it
    kStop,    // somebody asked the run to stop
  } kind = kLives;
  std::int32_t worker = 0;
  std::int32_t start = 0;  // from 1, different for every start of a run
  std::int32_t status = 0;
};

// True if the packet is on its way. Never blocks.
bool send_packet(int socket, const Order& order);
bool send_packet(int socket, const Notice& notice);

// The next packet, or nullopt if there is none now. Never blocks.
std::optional<Order> next_order(int socket);
std::optional<Notice> next_notice(int socket);

}  // namespace detol
