#pragma once

// Socket: one ZeroMQ socket with its context, for messages of one frame. A router (master)
// knows its peers by address; a dealer (worker) has one peer, connects whenever that peer
// is there, and keeps what was sent until then. A checksum goes with every message: what was
// damaged on its way is dropped, for its sender to repeat. Not thread-safe, but for wake(). ZeroMQ
// stays behind this header.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace detol::inline scheduler {

struct Packet {
  std::string from;  // the peer's address; empty on a dealer
  std::string bytes;
};

// CURVE keys in Z85 (40 characters); none: what is said can be read and forged on the way. A
// master needs both of its keys, a worker the public one of its master.
struct CurveKeys {
  std::string server_public;
  std::string server_secret;
};

// Errors (kInternal): this ZeroMQ cannot encrypt.
Result<CurveKeys> make_curve_keys();

inline constexpr int kMostConnections = 64;

class Socket {
 public:
  // Over TCP it takes at most so many connections at a time. Errors (kInternal): the endpoint and
  // the reason.
  static Result<Socket> router(const std::string& endpoint, const CurveKeys& keys = {},
                               int most_connections = kMostConnections);
  static Result<Socket> dealer(const std::string& endpoint, const CurveKeys& keys = {});

  Socket(Socket&&) noexcept;
  ~Socket();

  // False if there is no such peer (any more). Never blocks.
  bool send(std::string_view bytes, std::string_view to = {});

  // Lets sent messages take up to a second to leave when the socket closes, instead of none.
  void linger();

  // The next message, or nullopt if there is none now. What is no message of one frame, is
  // damaged, or is larger than kMessageLimit, is dropped.
  std::optional<Packet> receive();

  // Waits until there is something to receive, `other_fd` is readable, somebody called wake(), or
  // the time is over. True if somebody did.
  bool wait(int other_fd, double timeout_s);

  // Ends the current wait(), or else the next. From any thread.
  void wake() const;

 private:
  struct Handles;
  explicit Socket(std::unique_ptr<Handles> handles);
  static Result<Socket> open(int type, const std::string& endpoint, const CurveKeys& keys,
                             int most_connections);

  std::unique_ptr<Handles> handles_;
};

}  // namespace detol::inline scheduler
