#include "models/stop_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <array>

namespace detol::inline models {
namespace {

constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGUSR1};

volatile std::sig_atomic_t exit_code_at_signals = 0;

void set_handlers(void (*handler)(int)) {
  for (const int signal : kStopSignals) std::signal(signal, handler);
}

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kStopSignals) sigaddset(&set, signal);
  return set;
}

}  // namespace

ExitAtSignals::ExitAtSignals(int code) {
  exit_code_at_signals = code;
  set_handlers([](int) { ::_exit(exit_code_at_signals); });
}

ExitAtSignals::~ExitAtSignals() {
  set_handlers(SIG_DFL);
}

AwaitedSignals::AwaitedSignals(std::initializer_list<int> others) {
  sigset_t set = stop_signals();
  for (const int signal : others) sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, &before_);  // NOLINT(concurrency-mt-unsafe): one thread
  descriptor_ = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

AwaitedSignals::~AwaitedSignals() {
  ::close(descriptor_);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread
}

std::optional<int> AwaitedSignals::next() {
  signalfd_siginfo signal{};
  if (::read(descriptor_, &signal, sizeof signal) != sizeof signal) return std::nullopt;
  return static_cast<int>(signal.ssi_signo);
}

bool AwaitedSignals::take() {
  bool came = false;
  while (next()) came = true;
  return came;
}

void AwaitedSignals::ignore_in_child() const {
  set_handlers(SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread
}

}  // namespace detol::inline models
