#pragma once

// ConnectionLimit: limits the connections of a listening ZeroMQ socket, so that they cannot exhaust
// this process's memory and descriptors. At the limit the kernel drops new connection attempts (a
// socket filter on the listening descriptor), which clients repeat; open connections continue. Not
// thread-safe.

#include <cstddef>
#include <set>

namespace detol::inline scheduler {

class ConnectionLimit {
 public:
  // REQUIRES: `socket` belongs to `context`, is bound to TCP once, after this constructor, and
  // outlives this object.
  ConnectionLimit(void* context, void* socket, std::size_t most);
  ~ConnectionLimit();
  ConnectionLimit(const ConnectionLimit&) = delete;
  ConnectionLimit& operator=(const ConnectionLimit&) = delete;

  void allow(std::size_t most) { most_ = most; }

  // Returns a ZeroMQ socket that is readable when connections were opened or closed.
  void* monitor() const { return monitor_; }

  // Counts the connections opened and closed, and attaches or detaches the filter.
  void update();

 private:
  void read_monitor();

  void* const socket_;
  void* const monitor_;
  std::size_t most_;
  int listening_ = -1;         // descriptor
  std::set<int> connections_;  // descriptors
  bool is_shut_ = false;
};

}  // namespace detol::inline scheduler
