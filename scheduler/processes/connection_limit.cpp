#include "scheduler/processes/connection_limit.h"

#include <linux/filter.h>
#include <sys/socket.h>
#include <zmq.h>

#include <cstdint>
#include <cstring>

#include "core/log.h"

namespace detol::inline scheduler {
namespace {

constexpr const char* kMonitorEndpoint = "inproc://connections";
constexpr int kEvents = ZMQ_EVENT_LISTENING | ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED;

// Lets no packet through to a listening descriptor.
void shut(int listening) {
  sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &nothing};
  ::setsockopt(listening, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

void open(int listening) {
  const int ignored = 0;
  ::setsockopt(listening, SOL_SOCKET, SO_DETACH_FILTER, &ignored, sizeof ignored);
}

}  // namespace

ConnectionLimit::ConnectionLimit(void* context, void* socket, std::size_t most)
    : socket_(socket), monitor_(zmq_socket(context, ZMQ_PAIR)), most_(most) {
  zmq_socket_monitor(socket_, kMonitorEndpoint, kEvents);
  zmq_connect(monitor_, kMonitorEndpoint);
}

ConnectionLimit::~ConnectionLimit() {
  zmq_socket_monitor(socket_, nullptr, 0);
  zmq_close(monitor_);
}

// An event is two frames: its number with a descriptor, and an endpoint.
void ConnectionLimit::read_monitor() {
  char frame[sizeof(std::uint16_t) + sizeof(std::uint32_t)];
  while (zmq_recv(monitor_, frame, sizeof frame, ZMQ_DONTWAIT) == sizeof frame) {
    std::uint16_t event = 0;
    std::uint32_t descriptor = 0;
    std::memcpy(&event, frame, sizeof event);
    std::memcpy(&descriptor, frame + sizeof event, sizeof descriptor);
    char endpoint[4] = {};  // its begin
    zmq_recv(monitor_, endpoint, sizeof endpoint, ZMQ_DONTWAIT);
    const int fd = static_cast<int>(descriptor);
    if (std::memcmp(endpoint, "ipc:", sizeof endpoint) == 0) continue;  // only the user has these
    if (event == ZMQ_EVENT_LISTENING) listening_ = fd;
    if (event == ZMQ_EVENT_ACCEPTED) connections_.insert(fd);
    if (event == ZMQ_EVENT_DISCONNECTED) connections_.erase(fd);
  }
}

void ConnectionLimit::update() {
  read_monitor();
  if (listening_ < 0) return;
  if (!is_shut_ && connections_.size() >= most_) {
    shut(listening_);
    log_warning("the master's port has {} connections; it takes no more until some end",
                connections_.size());
    is_shut_ = true;
  } else if (is_shut_ && connections_.size() <= most_ - most_ / 4) {
    open(listening_);
    is_shut_ = false;
  }
}

}  // namespace detol::inline scheduler
