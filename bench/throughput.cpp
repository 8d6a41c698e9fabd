#include "bench/throughput.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "knowledge/ledger.h"
#include "scheduler/driver.h"
#include "scheduler/processes/socket.h"
#include "scheduler/processes/worker_pool.h"
#include "scheduler/search_parts.h"

namespace detol::inline bench {
namespace {

constexpr int kEpochs = 100;                     // reports of a trial
constexpr std::chrono::microseconds kIdle{100};  // before peers look again
constexpr const char* kKey = "throughput";

// Peer is a worker that trains nothing.
class Peer {
 public:
  Peer(int number, Socket socket) : number_(number), socket_(std::move(socket)) {
    say(hello(false));
  }

  // Answers what has come. Returns false if nothing had.
  bool turn() {
    const auto packet = socket_.receive();
    if (!packet) return false;
    const auto message = decode(packet->bytes);
    if (message) std::visit([this](const auto& m) { on(m); }, *message);
    return true;
  }

 private:
  message::Hello hello(bool is_ready) const {
    return {.start = 1,
            .key = kKey,
            .id = "peer " + std::to_string(number_),
            .name = "peer/" + std::to_string(number_),
            .ready = is_ready};
  }
  void say(const Message& message) { (void)socket_.send(encode(message)); }

  void report(int epoch) {
    say(message::Report{number_,
                        train_.trial,
                        train_.attempt,
                        {.epoch = epoch,
                         .metrics = {{"val_accuracy", 1.0 - 1.0 / epoch},
                                     {"val_loss", 1.0 / epoch},
                                     {"train_loss", 0.9 / epoch},
                                     {"train_accuracy", 1.0 - 0.9 / epoch}},
                         .work = 1e9 * epoch,
                         .train_s = 1,
                         .step = std::int64_t{100} * epoch}});
  }

  void on(const message::Setup&) { say(hello(true)); }
  void on(const message::Identify&) { say(hello(true)); }
  void on(const message::Train& train) {
    train_ = train;
    report(1);
  }
  void on(const message::ReportAck& ack) {
    if (ack.verdict == Verdict::kContinue) report(static_cast<int>(ack.epochs) + 1);
  }
  template <typename M>
  void on(const M&) {}

  int number_;
  Socket socket_;
  message::Train train_;
};

// Peers runs all peers on a thread until it is destroyed.
class Peers {
 public:
  explicit Peers(std::vector<Socket> sockets) {
    for (Socket& socket : sockets)
      peers_.emplace_back(static_cast<int>(peers_.size()), std::move(socket));
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        bool is_idle = true;
        for (Peer& peer : peers_) is_idle = !peer.turn() && is_idle;
        if (is_idle) std::this_thread::sleep_for(kIdle);
      }
    });
  }

 private:
  std::vector<Peer> peers_;
  std::jthread thread_;  // declared last, so that it ends first
};

// SocketPair is the connection to a supervisor that never answers.
class SocketPair {
 public:
  SocketPair() {
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends_) != 0) ends_[0] = -1;
  }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;
  ~SocketPair() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  int end() const { return ends_[0]; }

 private:
  int ends_[2] = {-1, -1};
};

// SameLength: candidates of which nothing but their length is known.
class SameLength final : public Candidates {
 public:
  Decoded decode(const Genome&) override {
    Candidate candidate;
    candidate.recipe.epochs = kEpochs;
    return candidate;
  }
};

StudyConfig study() {
  StudyConfig config;
  config.study = "throughput";
  config.space = SpaceBuilder().add_float("x", 0, 1).add_float("lr", 1e-4, 1).build().value();
  config.objectives = {maximize("val_accuracy")};
  config.algorithm.name = "random";
  config.pruner.name = "none";
  config.max_epochs = kEpochs;
  return config;
}

}  // namespace

Result<Throughput> measure_throughput(const ThroughputSettings& settings) {
  const StudyConfig config = study();
  const int trials = std::max(settings.peers, settings.reports / kEpochs);
  DETOL_ASSIGN(const auto ledger, Ledger::open(settings.folder / "detol.db"));
  DETOL_ASSIGN(
      const StudyId id,
      ledger->create_study(
          {.name = config.study, .config = "", .budget = "", .objectives = config.objectives}));
  DETOL_ASSIGN(const auto searcher,
               make_searcher(config.algorithm.name, config.space,
                             {.objectives = config.objectives, .options = {}}));
  DETOL_ASSIGN(const SearchParts parts, assemble_search(config));
  const SocketPair supervisor;
  const std::string endpoint = "ipc://" + (settings.folder / "socket").string();
  DETOL_ASSIGN(const auto pool, make_worker_pool({.endpoint = endpoint,
                                                  .registry = {.workers = 0,
                                                               .supervisor = supervisor.end(),
                                                               .key = kKey,
                                                               .folder = settings.folder},
                                                  .setup = {}},
                                                 system_clock()));
  DETOL_ASSIGN(std::vector<Socket> sockets, Socket::dealers(endpoint, settings.peers));
  const Peers peers(std::move(sockets));
  while (static_cast<int>(pool->free().size()) < settings.peers) (void)pool->wait(1);

  SameLength candidates;
  Budget budget;
  budget.trials = trials;
  Driver driver({.config = config,
                 .candidates = candidates,
                 .ledger = *ledger,
                 .study = id,
                 .searcher = *searcher,
                 .pruner = *parts.pruner,
                 .pool = *pool,
                 .clock = system_clock(),
                 .budget = budget,
                 .folder = settings.folder});
  const double began_s = system_clock().now_s(), worked_s = thread_seconds();
  DETOL_ASSIGN(const std::string why, driver.run());
  const double reports = trials * kEpochs;
  return Throughput{.per_second = reports / (system_clock().now_s() - began_s),
                    .master_s = (thread_seconds() - worked_s) / reports};
}

}  // namespace detol::inline bench
