#include "scheduler/processes/socket.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include <cstring>
#include <utility>

#include "core/fault.h"
#include "core/hash.h"
#include "scheduler/message.h"
#include "scheduler/processes/connection_limit.h"

namespace detol::inline scheduler {
namespace {

constexpr int kPingMs = 5000;
constexpr int kPingTimeoutMs = 15000;
constexpr int kLingerMs = 1000;
constexpr int kHandshakeMs = 5000;      // for a peer to show that it has the key
constexpr int kBacklog = 32;            // connections that wait to be accepted
constexpr int kMostQueued = 100;        // messages of one peer; a worker sends a few each second
constexpr std::size_t kKeyLength = 40;  // in Z85

void set(void* socket, int option, int value) {
  zmq_setsockopt(socket, option, &value, sizeof value);
}

void set(void* socket, int option, const std::string& value) {
  zmq_setsockopt(socket, option, value.data(), value.size());
}

// Encrypts the connections. Workers are identified by Hello::key, so their CURVE keys are random.
void encrypt(void* socket, bool is_server, const CurveKeys& keys) {
  if (keys.server_public.empty()) return;
  if (is_server) {
    set(socket, ZMQ_CURVE_SERVER, 1);
    set(socket, ZMQ_CURVE_SECRETKEY, keys.server_secret);
    return;
  }
  set(socket, ZMQ_CURVE_SERVERKEY, keys.server_public);
  if (const auto own = make_curve_keys()) {
    set(socket, ZMQ_CURVE_PUBLICKEY, own->server_public);
    set(socket, ZMQ_CURVE_SECRETKEY, own->server_secret);
  }
}

// Makes ZeroMQ notice a connection that the network cut silently, and connect again.
void notice_cuts(void* socket) {
  set(socket, ZMQ_HEARTBEAT_IVL, kPingMs);
  set(socket, ZMQ_HEARTBEAT_TIMEOUT, kPingTimeoutMs);
}

std::shared_ptr<void> new_context() {
  return {zmq_ctx_new(), [](void* context) { zmq_ctx_term(context); }};
}

bool is_tcp(std::string_view endpoint) {
  return endpoint.starts_with("tcp:");
}

tl::unexpected<Error> failure_at(const std::string& endpoint) {
  return fail(ErrorCode::kInternal,
              fmt::format("socket {}: {}", endpoint, zmq_strerror(zmq_errno())));
}

// Returns all frames of the next message; empty if there is none.
std::vector<std::string> receive_frames(void* socket) {
  std::vector<std::string> frames;
  bool more = true;
  while (more) {
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    if (zmq_msg_recv(&frame, socket, ZMQ_DONTWAIT) < 0) {
      zmq_msg_close(&frame);
      return {};
    }
    frames.emplace_back(static_cast<const char*>(zmq_msg_data(&frame)), zmq_msg_size(&frame));
    more = zmq_msg_more(&frame) != 0;
    zmq_msg_close(&frame);
  }
  return frames;
}

// Returns the frame, with one bit flipped if a test wants that.
std::string damaged_at(std::string_view site, std::string frame) {
  if (fault(site) == Fault::kCorrupt) frame[frame.size() / 2] ^= 1;
  return frame;
}

// Returns the frame of a message: its bytes, followed by their checksum.
std::string to_frame(std::string_view bytes) {
  const std::uint64_t checksum = hash64(bytes);
  std::string frame(bytes);
  frame.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  return damaged_at("message.send", std::move(frame));
}

// Returns the message of a frame, or nullopt if the frame is damaged.
std::optional<std::string> from_frame(std::string frame) {
  std::uint64_t checksum = 0;
  if (frame.size() < sizeof checksum) return std::nullopt;
  frame = damaged_at("message.receive", std::move(frame));
  const std::size_t size = frame.size() - sizeof checksum;
  std::memcpy(&checksum, frame.data() + size, sizeof checksum);
  frame.resize(size);
  if (hash64(std::string_view(frame)) != checksum) return std::nullopt;
  return frame;
}

}  // namespace

struct Socket::Handles {
  std::shared_ptr<void> context;
  void* socket = nullptr;
  bool is_router = false;
  int wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::optional<ConnectionLimit> limit;

  explicit Handles(std::shared_ptr<void> its_context) : context(std::move(its_context)) {}
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    limit.reset();
    if (socket != nullptr) zmq_close(socket);
    context.reset();
    ::close(wake_fd);
  }
};

Socket::Socket(std::unique_ptr<Handles> handles) : handles_(std::move(handles)) {}
Socket::Socket(Socket&&) noexcept = default;
Socket::~Socket() = default;

Result<CurveKeys> make_curve_keys() {
  char public_key[kKeyLength + 1], secret_key[kKeyLength + 1];
  if (zmq_curve_keypair(public_key, secret_key) != 0)
    return fail(ErrorCode::kInternal,
                fmt::format("cannot make keys: {}", zmq_strerror(zmq_errno())));
  return CurveKeys{public_key, secret_key};
}

Result<Socket> Socket::open(std::shared_ptr<void> context, int type, const CurveKeys& keys) {
  auto handles = std::make_unique<Handles>(std::move(context));
  handles->is_router = type == ZMQ_ROUTER;
  handles->socket = zmq_socket(handles->context.get(), type);
  if (handles->socket == nullptr)
    return fail(ErrorCode::kInternal,
                fmt::format("cannot make a socket: {}", zmq_strerror(zmq_errno())));
  if (handles->wake_fd < 0) return fail(ErrorCode::kInternal, "cannot make an event descriptor");
  set(handles->socket, ZMQ_LINGER, 0);
  set(handles->socket, ZMQ_HANDSHAKE_IVL, kHandshakeMs);
  set(handles->socket, ZMQ_RECONNECT_IVL, 50);
  set(handles->socket, ZMQ_RECONNECT_IVL_MAX, 1000);
  const std::int64_t limit = kMessageLimit;
  zmq_setsockopt(handles->socket, ZMQ_MAXMSGSIZE, &limit, sizeof limit);
  if (handles->is_router) {
    set(handles->socket, ZMQ_ROUTER_MANDATORY, 1);
    set(handles->socket, ZMQ_BACKLOG, kBacklog);
    set(handles->socket, ZMQ_RCVHWM, kMostQueued);
  }
  encrypt(handles->socket, handles->is_router, keys);
  return Socket(std::move(handles));
}

Result<Socket> Socket::router(const std::string& endpoint, const CurveKeys& keys,
                              std::size_t most_connections) {
  DETOL_ASSIGN(Socket socket, open(new_context(), ZMQ_ROUTER, keys));
  DETOL_TRY(socket.listen(endpoint, most_connections));
  return socket;
}

Result<Socket> Socket::dealer(const std::string& endpoint, const CurveKeys& keys) {
  DETOL_ASSIGN(Socket socket, open(new_context(), ZMQ_DEALER, keys));
  DETOL_TRY(socket.connect(endpoint));
  return socket;
}

Result<std::vector<Socket>> Socket::dealers(const std::string& endpoint, int count) {
  const std::shared_ptr<void> context = new_context();
  zmq_ctx_set(context.get(), ZMQ_MAX_SOCKETS, count + 1);
  std::vector<Socket> sockets;
  for (int i = 0; i < count; ++i) {
    DETOL_ASSIGN(Socket socket, open(context, ZMQ_DEALER, {}));
    DETOL_TRY(socket.connect(endpoint));
    sockets.push_back(std::move(socket));
  }
  return sockets;
}

Result<void> Socket::connect(const std::string& endpoint) {
  if (is_tcp(endpoint)) notice_cuts(handles_->socket);
  if (zmq_connect(handles_->socket, endpoint.c_str()) != 0) return failure_at(endpoint);
  return {};
}

Result<void> Socket::listen(const std::string& endpoint, std::size_t most_connections) {
  if (is_tcp(endpoint)) {
    notice_cuts(handles_->socket);
    handles_->limit.emplace(handles_->context.get(), handles_->socket, most_connections);
  }
  if (zmq_bind(handles_->socket, endpoint.c_str()) != 0) return failure_at(endpoint);
  return {};
}

void Socket::allow(std::size_t connections) {
  if (handles_->limit) handles_->limit->allow(connections);
}

void Socket::linger() {
  set(handles_->socket, ZMQ_LINGER, kLingerMs);
}

bool Socket::send(std::string_view bytes, std::string_view to) {
  void* socket = handles_->socket;
  const std::string frame = to_frame(bytes);
  if (handles_->is_router &&
      zmq_send(socket, to.data(), to.size(), ZMQ_DONTWAIT | ZMQ_SNDMORE) < 0) {
    return false;
  }
  return zmq_send(socket, frame.data(), frame.size(), ZMQ_DONTWAIT) >= 0;
}

std::optional<Packet> Socket::receive() {
  const std::size_t expected = handles_->is_router ? 2 : 1;
  for (;;) {
    std::vector<std::string> frames = receive_frames(handles_->socket);
    if (frames.empty()) return std::nullopt;
    if (frames.size() != expected) continue;
    auto bytes = from_frame(std::move(frames.back()));
    if (!bytes) continue;
    return Packet{expected == 2 ? std::move(frames.front()) : std::string(), std::move(*bytes)};
  }
}

bool Socket::wait(int other_fd, double timeout_s) {
  zmq_pollitem_t items[] = {
      {handles_->socket, 0, ZMQ_POLLIN, 0},
      {nullptr, handles_->wake_fd, ZMQ_POLLIN, 0},
      {nullptr, other_fd, ZMQ_POLLIN, 0},
      {handles_->limit ? handles_->limit->monitor() : nullptr, -1, ZMQ_POLLIN, 0}};
  zmq_poll(items, handles_->limit ? 4 : 3, static_cast<long>(timeout_s * 1000));
  if (handles_->limit) handles_->limit->update();
  std::uint64_t woken = 0;
  return ::read(handles_->wake_fd, &woken, sizeof woken) > 0;
}

void Socket::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(handles_->wake_fd, &one, sizeof one);
}

}  // namespace detol::inline scheduler
