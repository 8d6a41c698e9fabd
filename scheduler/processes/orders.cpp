#include "scheduler/processes/orders.h"

#include <sys/socket.h>

namespace detol {
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

bool send_packet(int socket, const Order& order) {
  return send_whole(socket, order);
}
bool send_packet(int socket, const Notice& notice) {
  return send_whole(socket, notice);
}
std::optional<Order> next_order(int socket) {
  return next<Order>(socket);
}
std::optional<Notice> next_notice(int socket) {
  return next<Notice>(socket);
}

}  // namespace detol
