// `dashboard` serves the panels of all studies of a knowledge base, live; the server is the room
// dashboard/.

#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <unistd.h>

#include <thread>

#include "cli/commands.h"
#include "core/host.h"
#include "core/log.h"
#include "dashboard/server.h"
#include "dashboard/study_panels.h"
#include "models/stop_signals.h"

namespace detol::inline cli {
namespace {

constexpr std::int64_t kHighestPort = 65535;
constexpr int kPolite = 10;  // what runs beside it is a search

void say_where(const ServedAt& at, const std::string& token) {
  const std::string url =
      fmt::format("http://{}/{}", authority_of(at), token.empty() ? "" : "#token=" + token);
  fmt::print("{}\n", url);
  if (is_loopback(at.host))
    fmt::print("from another machine: ssh -L {0}:127.0.0.1:{0} {1}, then the same address there\n",
               at.port, host_name());
  std::fflush(stdout);
  log_info("the dashboard answers; ctrl-C ends it");
}

Result<int> run_dashboard(const Arguments& arguments) {
  DETOL_ASSIGN(const auto port, arguments.number("port", 0));
  if (port.value_or(0) > kHighestPort) return usage_error("--port is at most {}", kHighestPort);
  DETOL_ASSIGN(const std::string token, token_from_word(arguments.text("token", "auto")));
  const std::string& storage = arguments.globals.storage;
  DETOL_TRY(Reader::open(storage));
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread
  ::mallopt(M_ARENA_MAX, 2);  // an arena for each thread would keep what it frees
  [[maybe_unused]] const int niceness = ::nice(kPolite);
  AwaitedSignals signals;  // before there are threads, which inherit that they are blocked
  const std::unique_ptr<Panels> panels = study_panels(storage);
  const ServedAt asked{arguments.text("host", "127.0.0.1"),
                       static_cast<std::uint16_t>(port.value_or(0))};
  DETOL_ASSIGN(const auto server, Server::listen(*panels, asked, token));
  std::thread answering([&] { server->run(); });
  std::thread reading([&] {  // before a browser asks for it
    const auto newest = studies::open_study(storage, "");
    if (newest) (void)panels->model(newest->record.name);
  });
  say_where(server->served_at(), token);
  while (!signals.take()) {
    pollfd waiting{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&waiting, 1, -1);
  }
  server->stop();
  answering.join();
  reading.join();
  return 0;
}

}  // namespace

Command dashboard_command() {
  return {
      .name = "dashboard",
      .summary = "show all studies live in a browser, also beside a running search",
      .options = {{"--host", "HOST", "where to listen; default: 127.0.0.1, this machine alone"},
                  {"--port", "N", "0: one that is free; default: 0"},
                  {"--token", "auto|none|TOKEN",
                   "what a browser must know, at least 16 letters, digits and -_.~; auto: a new "
                   "one; none: all who reach the port may read, nobody may act; default: auto"}},
      .examples =
          "  detol dashboard\n"
          "  detol dashboard --port 8090 &",
      .run = run_dashboard};
}

}  // namespace detol::inline cli
