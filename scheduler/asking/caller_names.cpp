#include "scheduler/asking/caller_names.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "core/host.h"

namespace detol::inline scheduler {

std::string this_caller() {
  return fmt::format("{} {}/{}", kNoCaller, host_name(), ::getpid());
}

bool may_live(std::string_view caller) {
  const std::string here = fmt::format("{} {}/", kNoCaller, host_name());
  if (!caller.starts_with(here)) return true;
  pid_t pid = 0;
  const std::string_view digits = caller.substr(here.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), pid);
  return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM);
}

bool is_caller(std::string_view worker) {
  return worker == kNoCaller || worker.starts_with(fmt::format("{} ", kNoCaller));
}

}  // namespace detol::inline scheduler
