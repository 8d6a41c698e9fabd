#pragma once

// Socket: one ZeroMQ socket with its context, for messages of one frame. A router (master) knows
// its peers by address; a dealer (worker) has one peer, connects whenever that peer is there, and
// queues messages until then. Every message has a checksum: one that was damaged on its way is
// dropped, and its sender repeats it. Not thread-safe, except wake(). No user of this header needs
// ZeroMQ.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace detol::inline scheduler {

struct Packet {
  std::string from;  // the peer's address; empty on a dealer
  std::string bytes;
};

// CURVE keys in Z85 (40 characters); if empty, messages can be read and forged on the way. A master
// needs both of its keys, a worker the public one of its master.
struct CurveKeys {
  std::string server_public;
  std::string server_secret;
};

// Makes a new pair of keys. Errors (kInternal): this ZeroMQ cannot encrypt.
Result<CurveKeys> make_curve_keys();

inline constexpr std::size_t kMostConnections = 64;

class Socket {
 public:
  // Over TCP it accepts at most `most_connections` at a time, until allow() says otherwise. Errors
  // (kInternal): the endpoint and the reason.
  static Result<Socket> router(const std::string& endpoint, const CurveKeys& keys = {},
                               std::size_t most_connections = kMostConnections);
  static Result<Socket> dealer(const std::string& endpoint, const CurveKeys& keys = {});

  // Makes `count` dealers that share the threads of one context: many peers of one process.
  static Result<std::vector<Socket>> dealers(const std::string& endpoint, int count);

  // Makes a router listen at one more endpoint, at most one of them over TCP. Errors (kInternal):
  // the endpoint and the reason.
  Result<void> listen(const std::string& endpoint, std::size_t most_connections = kMostConnections);

  // Sets how many connections over TCP a router accepts at a time.
  void allow(std::size_t connections);

  Socket(Socket&&) noexcept;
  ~Socket();

  // Returns false if there is no such peer (any more). Never blocks.
  bool send(std::string_view bytes, std::string_view to = {});

  // Makes closing the socket wait up to a second for sent messages to leave.
  void linger();

  // Returns the next message, or nullopt if there is none now. Drops messages of several frames,
  // damaged ones and those larger than kMessageLimit.
  std::optional<Packet> receive();

  // Waits until a message can be received, `other_fd` is readable, wake() was called, or the time
  // is over. Returns true if wake() was called.
  bool wait(int other_fd, double timeout_s);

  // Ends the current wait(), or else the next. From any thread.
  void wake() const;

 private:
  struct Handles;
  explicit Socket(std::unique_ptr<Handles> handles);
  static Result<Socket> open(std::shared_ptr<void> context, int type, const CurveKeys& keys);
  Result<void> connect(const std::string& endpoint);

  std::unique_ptr<Handles> handles_;
};

}  // namespace detol::inline scheduler
