// `ssh HOST detol worker --join ...` for each worker. The program must be at the same path on every
// host, and the storage and the data too.

#include <fmt/format.h>

#include <charconv>

#include "core/program.h"
#include "scheduler/launchers/local.h"
#include "scheduler/launchers/remote.h"

namespace detol::inline scheduler {
namespace {

// A worker's host, and its number among the workers there.
struct Seat {
  std::string host;
  int slot = 0;
};

constexpr int kMostSlots = 4096;

// A host's name is a word of ssh's command line and must be no option.
Result<std::vector<Seat>> seats_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::string host = text.substr(0, colon);
  int slots = 1;
  if (colon != std::string::npos) {
    const char* end = text.data() + text.size();
    const auto [read, error] = std::from_chars(text.data() + colon + 1, end, slots);
    if (error != std::errc() || read != end) slots = 0;
  }
  if (host.empty() || host.starts_with('-') || slots < 1 || slots > kMostSlots) {
    return fail(
        ErrorCode::kUsage,
        fmt::format("hosts has '{}'; it must be a name, or name:N for N workers there", text));
  }
  std::vector<Seat> seats;
  for (int slot = 0; slot < slots; ++slot) seats.push_back({host, slot});
  return seats;
}

// Returns the words before the host.
Result<std::vector<std::string>> ssh_words(const RunOptions& options) {
  const std::string name = options.ssh.empty() ? "ssh" : options.ssh;
  const std::string program = find_program(name);
  if (program.empty())
    return fail(ErrorCode::kUsage,
                fmt::format("launcher is ssh, but there is no program {}", name));
  if (!options.ssh.empty()) return std::vector<std::string>{program};
  return std::vector<std::string>{program, "-oBatchMode=yes", "-oConnectTimeout=10",
                                  "-oServerAliveInterval=5", "-oServerAliveCountMax=3"};
}

}  // namespace

Result<RemoteWorkers> ssh_workers(const RunOptions& options) {
  if (options.hosts.empty())
    return fail(ErrorCode::kUsage, "launcher is ssh, but there are no hosts; add --hosts a,b");
  DETOL_ASSIGN(const std::vector<std::string> ssh, ssh_words(options));
  std::vector<Seat> seats;
  for (const std::string& host : options.hosts) {
    DETOL_ASSIGN(const std::vector<Seat> more, seats_of(host));
    seats.insert(seats.end(), more.begin(), more.end());
  }
  const int ranks = ranks_of(options);
  return RemoteWorkers{static_cast<int>(seats.size()),
                       [ssh, seats, ranks](const RemoteWorker& worker) {
                         const Seat& seat = seats[static_cast<std::size_t>(worker.number)];
                         std::vector<std::string> words = ssh;
                         words.push_back(seat.host);
                         for (const std::string& word : worker_words(worker, ranks, seat.slot))
                           words.push_back(shell_quoted(word));
                         return words;
                       }};
}

}  // namespace detol::inline scheduler
