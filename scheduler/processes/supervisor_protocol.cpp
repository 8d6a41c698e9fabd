#include "scheduler/processes/supervisor_protocol.h"

#include <sys/socket.h>

namespace detol::inline scheduler {
namespace {

template <typename Packet>
bool send_whole(int socket, const Packet& packet) {
  return ::send(socket, &packet, sizeof packet, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof packet;
}

template <typename Packet>
std::optional<Packet> next(int socket) {
  Packet packet;
  if (::recv(socket, &packet, sizeof packet, MSG_DONTWAIT) == sizeof packet) return packet;
  return std::nullopt;
}

}  // namespace

bool send_packet(int socket, const supervisor::Command& command) {
  return send_whole(socket, command);
}
bool send_packet(int socket, const supervisor::Event& event) {
  return send_whole(socket, event);
}
std::optional<supervisor::Command> next_command(int socket) {
  return next<supervisor::Command>(socket);
}
std::optional<supervisor::Event> next_event(int socket) {
  return next<supervisor::Event>(socket);
}

}  // namespace detol::inline scheduler
