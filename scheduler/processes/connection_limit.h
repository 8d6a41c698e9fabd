#pragma once

// ConnectionLimit: how many connections a listening ZeroMQ socket has at a time, so that nobody
// fills this process's memory and descriptors with them. At the limit the kernel drops whoever
// knocks (a socket filter on the listening descriptor), and they knock again; the connections that
// are there continue. Not thread-safe.

#include <cstddef>
#include <set>

namespace detol::inline scheduler {

class ConnectionLimit {
 public:
  // REQUIRES: `socket`, of `context`, is bound to TCP after this, once, and outlives this object.
  ConnectionLimit(void* context, void* socket, int most);
  ~ConnectionLimit();
  ConnectionLimit(const ConnectionLimit&) = delete;
  ConnectionLimit& operator=(const ConnectionLimit&) = delete;

  // A ZeroMQ socket that can be received from when connections came or went.
  void* news() const { return news_; }

  // Counts what came and went, and shuts or opens the door.
  void turn();

 private:
  void hear();

  void* const socket_;
  void* const news_;
  const std::size_t most_;
  int listening_ = -1;         // descriptor
  std::set<int> connections_;  // descriptors
  bool is_shut_ = false;
};

}  // namespace detol::inline scheduler
