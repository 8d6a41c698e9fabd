#include "tests/e2e/hosts.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/e2e/environment.h"
#include "tests/support/idx_writer.h"

namespace detol::testing_support {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr const char* kIp = "/usr/sbin/ip";
constexpr const char* kTc = "/usr/sbin/tc";

// Runs a program of the system, in a folder that is nobody's.
Ran run_other(const char* program, const Words& words) {
  const TempFolder aside;
  const Environment other("DETOL_PROGRAM", program);
  return Program(aside.path(), words).wait();
}

// A host has a name and a network of its own.
constexpr const char* kEnter = R"(#!/bin/sh
host=$1
shift
case $host in
{}
*) exit 255 ;;
esac
[ ! -e "{}/$name.down" ] || exit 255
exec ip netns exec "$name" unshare -u sh -c 'hostname "$0"; exec sh -c "$1"' "$name" "$*"
)";

}  // namespace

Hosts::Hosts() {
  if (::geteuid() != 0) why_not_ = "only root can make network namespaces";
  if (::access(kIp, X_OK) != 0) why_not_ = "there is no ip";
  if (!why_not_.empty()) return;
  for (const int host : {0, 1}) {
    if (ip({"netns", "add", name(host)}) != 0) {
      why_not_ = "network namespaces are not allowed here";
      return;
    }
  }
  if (ip({"link", "add", "eth0", "netns", name(0), "type", "veth", "peer", "name", "eth0", "netns",
          name(1)}) != 0) {
    why_not_ = "pairs of network devices are not allowed here";
    return;
  }
  std::string cases;
  for (const int host : {0, 1}) {
    ip({"-n", name(host), "address", "add", address(host) + "/24", "dev", "eth0"});
    for (const char* device : {"lo", "eth0"}) ip({"-n", name(host), "link", "set", device, "up"});
    cases += fmt::format("{}) name={} ;;\n", address(host), name(host));
  }
  write_bytes(enter(), fmt::format(fmt::runtime(kEnter), cases, place_.path().string()));
  fs::permissions(enter(), fs::perms(0755));
}

Hosts::~Hosts() {
  for (const int host : {0, 1}) {
    if (!fs::exists("/run/netns/" + name(host))) continue;
    kill(host);
    ip({"netns", "delete", name(host)});
  }
}

std::string Hosts::address(int host) {
  return fmt::format("10.77.0.{}", host + 1);
}

std::string Hosts::name(int host) const {
  return fmt::format("detol-{}-{}", ::getpid(), host);
}

int Hosts::ip(const Words& words) {
  return run_other(kIp, words).code;
}

Program Hosts::start(int host, const fs::path& folder, const Words& words,
                     const std::string& program) const {
  Words all = {"netns", "exec", name(host), program};
  all.insert(all.end(), words.begin(), words.end());
  const Environment other("DETOL_PROGRAM", kIp);
  return Program(folder, all);
}

void Hosts::set_link(int host, const char* state) const {
  ip({"-n", name(host), "link", "set", "eth0", state});
}

bool Hosts::slow(int host) const {
  if (::access(kTc, X_OK) != 0) return false;
  const auto add = [&](const Words& discipline) {
    Words words = {"-n", name(host), "qdisc", "add", "dev", "eth0", "root"};
    words.insert(words.end(), discipline.begin(), discipline.end());
    return run_other(kTc, words).code == 0;
  };
  return add({"netem", "delay", "150ms", "50ms", "loss", "2%"}) ||
         add({"tbf", "rate", "100kbit", "burst", "2kb", "latency", "300ms"});
}

void Hosts::kill(int host) const {
  std::ofstream(place_.path() / (name(host) + ".down")) << "";
  cut(host);
  for (auto left = processes(host); !left.empty(); left = processes(host)) {
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
    ::poll(nullptr, 0, 10);
  }
}

std::vector<pid_t> Hosts::processes(int host) const {
  std::istringstream list(run_other(kIp, {"netns", "pids", name(host)}).out);
  std::vector<pid_t> pids;
  for (pid_t pid = 0; list >> pid;) pids.push_back(pid);
  return pids;
}

bool Hosts::runs(int host, std::string_view word) const {
  for (const pid_t pid : processes(host)) {
    const std::string words = text_of("/proc/" + std::to_string(pid) + "/cmdline");
    if (words.find(std::string(1, '\0') + std::string(word) + '\0') != std::string::npos)
      return true;
  }
  return false;
}

void Hosts::revive(int host) const {
  mend(host);
  fs::remove(place_.path() / (name(host) + ".down"));
}

}  // namespace detol::testing_support
