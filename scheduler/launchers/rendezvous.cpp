#include "scheduler/launchers/rendezvous.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/descriptor.h"
#include "core/file.h"
#include "core/log.h"

namespace detol::inline scheduler {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kWaitS = 60;      // for a master to publish
constexpr int kLookMs = 200;       // between two looks at the file
constexpr int kFarewellMs = 1000;  // for workers to see that the run is over
constexpr int kProbeS = 3;         // for one address to answer
constexpr const char* kLoopback = "127.0.0.1";
constexpr std::size_t kLimit = 1 << 16;  // bytes of the file

void pause_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

// Returns a text that is equal for processes that reach each other over the loopback device.
std::string this_machine() {
  std::error_code ignored;
  return read_file("/proc/sys/kernel/random/boot_id").value_or("?") +
         fs::read_symlink("/proc/self/ns/net", ignored).string();
}

sockaddr_in address_of(in_addr_t host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = host;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

// Returns a port that is free now; every master of the run binds it.
Result<int> free_port(bool is_local) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = address_of(is_local ? htonl(INADDR_LOOPBACK) : INADDR_ANY, 0);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool done = ::bind(fd, generic, length) == 0 && ::getsockname(fd, generic, &length) == 0;
  ::close(fd);
  if (!done) return fail(ErrorCode::kInternal, "no TCP port can be had for the workers");
  return ntohs(address.sin_port);
}

// Returns this machine's addresses that other machines may reach.
std::vector<std::string> own_addresses() {
  std::vector<std::string> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const bool is_up = (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_LOOPBACK) == 0;
    if (!is_up || entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN];
    const auto& address = *reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    if (::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text) != nullptr)
      found.emplace_back(text);
  }
  ::freeifaddrs(list);
  return found;
}

bool answers(const std::string& host, int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{kProbeS, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const sockaddr_in address = address_of(::inet_addr(host.c_str()), port);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  const bool connected = ::connect(fd, generic, sizeof address) == 0;
  ::close(fd);
  return connected;
}

// Writes a file that no other user can read at any instant; a symlink there is replaced.
Result<void> write_secretly(const fs::path& file, const json& content) {
  return write_file_durably(file, content.dump(), S_IRUSR | S_IWUSR);
}

std::optional<json> read_json(const fs::path& file) {
  const auto text = read_file(file, kLimit);
  if (!text) return std::nullopt;
  json content = json::parse(*text, nullptr, false);
  return content.is_object() ? std::optional(std::move(content)) : std::nullopt;
}

// Returns the first address that answers from here, or nullopt.
std::optional<std::string> reachable(const json& content) {
  const int port = content.at("port").get<int>();
  std::vector<std::string> hosts = content.at("hosts").get<std::vector<std::string>>();
  if (content.at("machine").get<std::string>() == this_machine()) hosts = {kLoopback};
  for (const std::string& host : hosts) {
    if (answers(host, port)) return fmt::format("tcp://{}:{}", host, port);
  }
  return std::nullopt;
}

}  // namespace

Result<RendezvousInfo> rendezvous_info(const fs::path& run_folder, bool is_local) {
  const fs::path file = run_folder / "rendezvous.json";
  if (!fs::exists(file)) {
    DETOL_ASSIGN(const int port, free_port(is_local));
    DETOL_ASSIGN(const CurveKeys keys, make_curve_keys());
    DETOL_ASSIGN(const CurveKeys random, make_curve_keys());
    DETOL_TRY(write_secretly(file, {{"port", port},
                                    {"public", keys.server_public},
                                    {"secret", keys.server_secret},
                                    {"key", random.server_secret}}));
  }
  const auto content = read_json(file);
  if (!content) return fail(ErrorCode::kInternal, fmt::format("{}: damaged", file.string()));
  return RendezvousInfo{.port = content->value("port", 0),
                        .is_local = is_local,
                        .keys = {content->value("public", ""), content->value("secret", "")},
                        .key = content->value("key", "")};
}

std::string endpoint_of(const RendezvousInfo& rendezvous) {
  return fmt::format("tcp://{}:{}", rendezvous.is_local ? kLoopback : "*", rendezvous.port);
}

Result<void> publish(const RendezvousInfo& rendezvous, const fs::path& file) {
  return write_secretly(
      file, {{"port", rendezvous.port},
             {"hosts", rendezvous.is_local ? std::vector<std::string>{kLoopback} : own_addresses()},
             {"machine", this_machine()},
             {"public", rendezvous.keys.server_public},
             {"key", rendezvous.key}});
}

void withdraw(const fs::path& file) {
  if (write_secretly(file, {{"over", true}})) pause_ms(kFarewellMs);
  std::error_code ignored;
  fs::remove(file, ignored);
}

bool is_rendezvous_file(const fs::path& file) {
  struct stat info {};
  return ::lstat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid();
}

std::optional<MasterAddress> find_master(const fs::path& file, int worker) {
  const double limit_s = system_clock().now_s() + kWaitS;
  for (; system_clock().now_s() < limit_s; pause_ms(kLookMs)) {
    const auto content = is_rendezvous_file(file) ? read_json(file) : std::nullopt;
    if (!content) continue;
    if (content->contains("over")) return std::nullopt;
    const auto endpoint = reachable(*content);
    if (!endpoint) continue;
    return MasterAddress{.endpoint = *endpoint,
                         .keys = {content->value("public", ""), {}},
                         .worker = worker,
                         .start = ::getpid(),
                         .key = content->value("key", ""),
                         .run_file = file};
  }
  log_warning("worker {}: no search to join: {} does not appear", worker, file.string());
  return std::nullopt;
}

}  // namespace detol::inline scheduler
