#include "scheduler/processes/signals.h"

#include <atomic>
#include <csignal>
#include <initializer_list>

namespace detol::inline scheduler {

sigset_t awaited_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGUSR1}) sigaddset(&signals, signal);
  for (const int signal : {SIGHUP, SIGTSTP}) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&signals, signal);
  }
  return signals;
}

void ignore_signals() {
  for (int signal : {SIGINT, SIGTERM, SIGUSR1, SIGPIPE, SIGXFSZ, SIGTTOU, SIGTTIN, SIGHUP})
    std::signal(signal, SIG_IGN);
}

namespace {

std::atomic<bool> g_is_leave_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "it is set in a signal handler");

}  // namespace

void leave_on_signal() {
  for (const int signal : {SIGUSR1, SIGTERM, SIGINT})
    std::signal(signal, [](int) { g_is_leave_requested = true; });
}

bool is_leave_requested() {
  return g_is_leave_requested;
}

}  // namespace detol::inline scheduler
