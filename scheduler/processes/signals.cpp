#include "scheduler/processes/signals.h"

#include <csignal>
#include <initializer_list>

namespace detol::inline scheduler {

void ignore_signals() {
  for (int signal : {SIGINT, SIGTERM, SIGUSR1, SIGPIPE, SIGXFSZ, SIGTTOU, SIGTTIN, SIGHUP})
    std::signal(signal, SIG_IGN);
}

namespace {

volatile std::sig_atomic_t g_is_leave_requested = 0;

}  // namespace

void leave_on_signal() {
  std::signal(SIGUSR1, [](int) { g_is_leave_requested = 1; });
}

bool is_leave_requested() {
  return g_is_leave_requested != 0;
}

}  // namespace detol::inline scheduler
