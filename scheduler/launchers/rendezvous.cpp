#include "scheduler/launchers/rendezvous.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/descriptor.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/host.h"
#include "core/json_text.h"
#include "scheduler/processes/run_folder.h"

namespace detol::inline scheduler {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kLookMs = 200;                         // between two looks at the file
constexpr int kFarewellMs = 1000;                    // for workers to see that the run is over
constexpr int kProbeS = 3;                           // for one address to answer
constexpr const char* kSecrets = "rendezvous.json";  // in the run folder
constexpr int kHighestPort = 65535;
constexpr const char* kLoopback = "127.0.0.1";
constexpr std::string_view kIpc = "ipc://";
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

bool connects(int domain, const sockaddr* address, socklen_t length) {
  const int fd = ::socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{kProbeS, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const bool connected = ::connect(fd, address, length) == 0;
  ::close(fd);
  return connected;
}

bool answers(const std::string& host, int port) {
  const sockaddr_in address = address_of(::inet_addr(host.c_str()), port);
  return connects(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

// Returns whether somebody listens at "ipc://<path>".
bool answers(const std::string& endpoint) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!endpoint.starts_with(kIpc) || endpoint.size() - kIpc.size() >= sizeof address.sun_path)
    return false;
  endpoint.copy(address.sun_path, std::string::npos, kIpc.size());
  return connects(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

// Writes a file that no other user can read at any instant; a symlink there is replaced.
Result<void> write_secretly(const fs::path& file, const json& content) {
  return write_file_durably(file, compact(content), S_IRUSR | S_IWUSR);
}

std::optional<json> read_json(const fs::path& file) {
  const auto text = read_file(file, kLimit);
  if (!text) return std::nullopt;
  json content = json_or_discarded(*text);
  return content.is_object() ? std::optional(std::move(content)) : std::nullopt;
}

bool is_here(const json& content) {
  return field_or(content, "machine", std::string()) == this_machine();
}

// Returns the first address that answers from here, or nullopt.
std::optional<std::string> reachable(const json& content) {
  const std::string socket = field_or(content, "socket", std::string());
  if (is_here(content) && answers(socket)) return socket;
  const int port = field_or(content, "port", 0);
  if (port < 1 || port > kHighestPort) return std::nullopt;
  std::vector<std::string> hosts;
  for (const json& host : content.value("hosts", json()))
    if (host.is_string()) hosts.push_back(host.get<std::string>());
  if (is_here(content)) hosts = {kLoopback};
  for (const std::string& host : hosts) {
    if (answers(host, port)) return fmt::format("tcp://{}:{}", host, port);
  }
  return std::nullopt;
}

// Returns what the private folder of a run is to hold.
Result<json> new_secrets(Reach reach) {
  DETOL_ASSIGN(const CurveKeys random, make_curve_keys());
  json secrets{{"key", random.server_secret}, {"reach", static_cast<int>(reach)}};
  if (reach == Reach::kSocket) return secrets;
  DETOL_ASSIGN(const CurveKeys keys, make_curve_keys());
  DETOL_ASSIGN(secrets["port"], free_port(reach == Reach::kLoopback));
  secrets["public"] = keys.server_public;
  secrets["secret"] = keys.server_secret;
  return secrets;
}

std::string random_hex() {
  std::random_device device;
  return to_hex(std::uint64_t{device()} << 32 | device());
}

std::optional<json> published(const fs::path& file) {
  return is_rendezvous_file(file) ? read_json(file) : std::nullopt;
}

}  // namespace

Result<RendezvousInfo> rendezvous_info(const fs::path& run_folder, Reach reach) {
  const fs::path file = run_folder / kSecrets;
  if (!fs::exists(file)) {
    DETOL_ASSIGN(const json secrets, new_secrets(reach));
    DETOL_TRY(write_secretly(file, secrets));
  }
  const auto content = read_json(file);
  if (!content) return fail(ErrorCode::kInternal, fmt::format("{}: damaged", file.string()));
  return RendezvousInfo{.reach = static_cast<Reach>(field_or(*content, "reach", 0)),
                        .socket = endpoint_in(run_folder),
                        .port = field_or(*content, "port", 0),
                        .keys = {field_or(*content, "public", std::string()),
                                 field_or(*content, "secret", std::string())},
                        .key = field_or(*content, "key", std::string()),
                        .backend = {},
                        .host = host_name()};
}

std::string tcp_endpoint_of(const RendezvousInfo& rendezvous) {
  if (rendezvous.port == 0) return {};
  const bool is_local = rendezvous.reach == Reach::kLoopback;
  return fmt::format("tcp://{}:{}", is_local ? kLoopback : "*", rendezvous.port);
}

Result<void> publish(const RendezvousInfo& rendezvous, const fs::path& file) {
  std::vector<std::string> hosts;
  if (rendezvous.reach == Reach::kLoopback) hosts = {kLoopback};
  if (rendezvous.reach == Reach::kNetwork) hosts = own_addresses();
  return write_secretly(file, {{"reach", static_cast<int>(rendezvous.reach)},
                               {"socket", rendezvous.socket},
                               {"port", rendezvous.port},
                               {"hosts", hosts},
                               {"machine", this_machine()},
                               {"public", rendezvous.keys.server_public},
                               {"key", rendezvous.key},
                               {"process", random_hex()},
                               {"group_size", rendezvous.group_size},
                               {"takes_other_sizes", rendezvous.takes_other_sizes},
                               {"backend", rendezvous.backend},
                               {"host", rendezvous.host},
                               {"runs_programs", rendezvous.runs_programs},
                               {"comes_back", rendezvous.comes_back}});
}

void withdraw(const fs::path& file) {
  if (write_secretly(file, {{"over", true}})) pause_ms(kFarewellMs);
  std::error_code ignored;
  fs::remove(file, ignored);
}

void remove_published(const fs::path& run_folder, const fs::path& file) {
  const auto own = read_json(run_folder / kSecrets);
  const auto content = published(file);
  if (!own || !content ||
      field_or(*own, "key", std::string()) != field_or(*content, "key", std::string("?")))
    return;
  std::error_code ignored;
  fs::remove(file, ignored);
  fs::remove(file.parent_path(), ignored);  // if nothing else is in there
}

bool is_rendezvous_file(const fs::path& file) {
  struct stat info {};
  return ::lstat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid();
}

std::optional<RendezvousInfo> read_rendezvous(const fs::path& file) {
  const auto content = published(file);
  if (!content || content->contains("over")) return std::nullopt;
  return RendezvousInfo{.reach = static_cast<Reach>(field_or(*content, "reach", 0)),
                        .socket = {},
                        .port = field_or(*content, "port", 0),
                        .keys = {},
                        .key = {},
                        .group_size = field_or(*content, "group_size", 1),
                        .takes_other_sizes = field_or(*content, "takes_other_sizes", false),
                        .backend = field_or(*content, "backend", std::string()),
                        .host = field_or(*content, "host", std::string()),
                        .is_here = is_here(*content),
                        .runs_programs = field_or(*content, "runs_programs", false),
                        .comes_back = field_or(*content, "comes_back", true)};
}

std::optional<MasterAddress> master_now(const fs::path& file) {
  const auto content = published(file);
  if (!content || content->contains("over")) return std::nullopt;
  const auto endpoint = reachable(*content);
  if (!endpoint) return std::nullopt;
  return MasterAddress{.endpoint = *endpoint,
                       .keys = {field_or(*content, "public", std::string()), {}},
                       .start = ::getpid(),
                       .key = field_or(*content, "key", std::string()),
                       .run_file = file,
                       .process = field_or(*content, "process", std::string())};
}

bool is_the_last(const MasterAddress& master) {
  const auto content = published(master.run_file);
  return content && field_or(*content, "process", std::string()) == master.process;
}

std::optional<MasterAddress> find_master(const fs::path& file, double wait_s) {
  const double limit_s = system_clock().now_s() + wait_s;
  for (; system_clock().now_s() < limit_s; pause_ms(kLookMs)) {
    if (auto master = master_now(file)) return master;
    const auto content = published(file);
    if (content && content->contains("over")) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace detol::inline scheduler
