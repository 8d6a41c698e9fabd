#pragma once

// HTTP as bytes, so that a test can send what no client would.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace detol::testing_support {

// Returns an address of this machine at a port; 0: one that is free.
inline sockaddr_in here(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

inline std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = here(0);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ::close(socket);
  return ntohs(address.sin_port);
}

// Sends the bytes of a request and returns the whole answer, or, with `until`, what came until that
// text stood in it. The server must close the connection.
inline std::string ask(std::uint16_t port, const std::string& request,
                       const std::string& until = {}) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = here(port);
  EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::send(socket, request.data(), request.size(), 0),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  std::array<char, 1 << 16> part{};
  for (ssize_t got = 1; got > 0 && (until.empty() || answer.find(until) == std::string::npos);) {
    got = ::recv(socket, part.data(), part.size(), 0);
    answer.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  ::close(socket);
  return answer;
}

}  // namespace detol::testing_support
