#pragma once

// Calls of those who ask and tell, between processes: a client's lines go to the process that runs
// the study, which answers each (message::Call).

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/result.h"
#include "scheduler/message.h"
#include "scheduler/processes/master_link.h"
#include "scheduler/processes/socket.h"

namespace detol::inline scheduler {

// Not thread-safe.
class CallClient {
 public:
  // Errors (kInternal): the endpoint cannot be used.
  static Result<CallClient> connect(const MasterAddress& address);

  // Returns the answer to a line; nullopt once `is_there`, which is called every fifth of a second
  // of waiting, says that the other process is gone.
  std::optional<std::string> call(const std::string& caller, const std::string& line,
                                  const std::function<bool()>& is_there);

 private:
  CallClient(Socket socket, std::string key) : socket_(std::move(socket)), key_(std::move(key)) {}

  Socket socket_;
  std::string key_;
  std::uint64_t number_ = 0;
};

// CallServer: listens on a thread of its own, for a process that has no workers; those that want to
// join are sent away.
class CallServer {
 public:
  // Makes a call, on the server's thread; the answer may come from any thread, also after the
  // server has ended.
  using Make =
      std::function<void(const message::Call& call, std::function<void(std::string)> answer)>;

  // Errors (kInternal): the endpoint cannot be bound.
  static Result<std::unique_ptr<CallServer>> start(const std::string& endpoint, std::string key,
                                                   Make make);
  ~CallServer();  // sends the answers that are there

 private:
  struct Parts;
  explicit CallServer(std::shared_ptr<Parts> parts);

  std::shared_ptr<Parts> parts_;
};

}  // namespace detol::inline scheduler
