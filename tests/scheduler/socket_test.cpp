#include "scheduler/processes/socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include <gtest/gtest.h>

namespace detol {
namespace {

constexpr double kTurnS = 0.01;
constexpr int kMostTurns = 2000;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  ::close(fd);
  return ntohs(address.sin_port);
}

// A master's port and peers that connect to it and say nothing.
class MastersPort : public testing::Test {
 protected:
  static constexpr int kMost = 8;

  ~MastersPort() override { hang_up(); }

  // Returns false if the port does not answer.
  bool connect_unknown_peer() {
    constexpr int kPatienceMs = 300;
    peers.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    const sockaddr_in address = loopback(port);
    ::connect(peers.back(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    pollfd waits{peers.back(), POLLOUT, 0};
    return ::poll(&waits, 1, kPatienceMs) == 1 && (waits.revents & POLLERR) == 0;
  }
  // Connects peers until the port is full; false if it takes kFarTooMany.
  bool fill() {
    constexpr std::size_t kFarTooMany = 300;
    while (peers.size() < kFarTooMany && connect_unknown_peer()) master.wait(-1, kTurnS);
    return peers.size() < kFarTooMany;
  }
  void hang_up() {
    for (const int fd : peers) ::close(fd);
    peers.clear();
  }
  // The next message that the master gets.
  std::string heard() {
    for (int turn = 0; turn < kMostTurns; ++turn) {
      if (const auto packet = master.receive()) return packet->bytes;
      master.wait(-1, kTurnS);
    }
    return "";
  }

  const int port = free_port();
  const std::string endpoint = fmt::format("tcp://127.0.0.1:{}", port);
  const CurveKeys keys = make_curve_keys().value();
  Socket master = Socket::router(endpoint, keys, kMost).value();
  std::vector<int> peers;
};

TEST_F(MastersPort, TakesNoMoreConnectionsThanItMay) {
  EXPECT_TRUE(fill());
}

TEST_F(MastersPort, TakesConnectionsAgainWhenSomeEnd) {
  ASSERT_TRUE(fill());
  hang_up();
  bool is_taken = false;
  for (int turn = 0; turn < kMostTurns && !is_taken; ++turn) {
    master.wait(-1, kTurnS);
    is_taken = connect_unknown_peer();
  }
  EXPECT_TRUE(is_taken);
}

TEST_F(MastersPort, UnknownPeersThatFillItDoNotCutOffAWorker) {
  Socket worker = Socket::dealer(endpoint, {keys.server_public, {}}).value();
  worker.send("before");
  ASSERT_EQ(heard(), "before");
  ASSERT_TRUE(fill());
  worker.send("after");
  EXPECT_EQ(heard(), "after");
}

TEST_F(MastersPort, WhoHasNoKeyIsNotHeard) {
  Socket peer = Socket::dealer(endpoint).value();
  Socket impostor = Socket::dealer(endpoint, {make_curve_keys().value().server_public, {}}).value();
  Socket worker = Socket::dealer(endpoint, {keys.server_public, {}}).value();
  peer.send("unknown");
  impostor.send("impostor");
  worker.send("worker");
  EXPECT_EQ(heard(), "worker");
  worker.send("again");
  EXPECT_EQ(heard(), "again");
}

}  // namespace
}  // namespace detol
