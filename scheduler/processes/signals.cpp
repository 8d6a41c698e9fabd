#include "scheduler/processes/signals.h"

#include <csignal>
#include <initializer_list>

namespace detol::inline scheduler {

void ignore_signals() {
  for (int signal : {SIGINT, SIGTERM, SIGUSR1, SIGPIPE, SIGXFSZ, SIGTTOU, SIGTTIN, SIGHUP})
    std::signal(signal, SIG_IGN);
}

}  // namespace detol::inline scheduler
