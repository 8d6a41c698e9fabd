#include "scheduler/processes/calls.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/log.h"

namespace detol::inline scheduler {
namespace {

constexpr int kNoDescriptor = -1;
constexpr double kLookS = 0.2;   // whether the other process is there
constexpr double kServeS = 1.0;  // of one wait

}  // namespace

Result<CallClient> CallClient::connect(const MasterAddress& address) {
  DETOL_ASSIGN(Socket socket, Socket::dealer(address.endpoint, address.keys));
  return CallClient(std::move(socket), address.key);
}

std::optional<std::string> CallClient::call(const std::string& caller, const std::string& line,
                                            const std::function<bool()>& is_there) {
  socket_.send(encode(message::Call{key_, ++number_, caller, line}));
  for (double look_s = system_clock().now_s() + kLookS;;) {
    socket_.wait(kNoDescriptor, kLookS);
    while (const auto packet = socket_.receive()) {
      const auto message = decode(packet->bytes);
      const auto* answer = message ? std::get_if<message::Answer>(&*message) : nullptr;
      if (answer != nullptr && answer->number == number_) return answer->line;
    }
    if (system_clock().now_s() < look_s) continue;
    if (!is_there()) return std::nullopt;
    look_s = system_clock().now_s() + kLookS;
  }
}

struct CallServer::Parts {
  struct Reply {
    std::string to;
    message::Answer answer;
  };

  explicit Parts(Socket from) : socket(std::move(from)) {}

  void answer(Reply reply) {
    {
      const std::lock_guard lock(mutex);
      replies.push_back(std::move(reply));
    }
    socket.wake();
  }

  void send_replies() {
    std::vector<Reply> ready;
    {
      const std::lock_guard lock(mutex);
      ready.swap(replies);
    }
    for (const Reply& reply : ready) socket.send(encode(reply.answer), reply.to);
  }

  Socket socket;
  std::string key;
  Make make;
  std::atomic<bool> is_over = false;
  std::mutex mutex;  // of replies
  std::vector<Reply> replies;
  std::thread thread;
};

CallServer::CallServer(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {
  parts_->thread = std::thread([parts = parts_.get(), weak = std::weak_ptr<Parts>(parts_)] {
    while (!parts->is_over) {
      parts->socket.wait(kNoDescriptor, kServeS);
      parts->send_replies();
      while (const auto packet = parts->socket.receive()) {
        const auto message = decode(packet->bytes);
        if (!message) {
          log_warning("ignored on the study's socket: {}", message.error().message);
          continue;
        }
        if (std::holds_alternative<message::Hello>(*message))
          parts->socket.send(encode(message::Shutdown{}), packet->from);
        const auto* call = std::get_if<message::Call>(&*message);
        if (call == nullptr || call->key != parts->key) continue;
        parts->make(*call, [weak, from = packet->from, number = call->number](std::string line) {
          if (const auto there = weak.lock()) there->answer({from, {number, std::move(line)}});
        });
      }
    }
    parts->send_replies();
    parts->socket.linger();
  });
}

CallServer::~CallServer() {
  parts_->is_over = true;
  parts_->socket.wake();
  parts_->thread.join();
}

Result<std::unique_ptr<CallServer>> CallServer::start(const std::string& endpoint, std::string key,
                                                      Make make) {
  DETOL_ASSIGN(Socket socket, Socket::router(endpoint));
  auto parts = std::make_shared<Parts>(std::move(socket));
  parts->key = std::move(key);
  parts->make = std::move(make);
  return std::unique_ptr<CallServer>(new CallServer(std::move(parts)));
}

}  // namespace detol::inline scheduler
