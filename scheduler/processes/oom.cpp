#include "scheduler/processes/oom.h"

#include <fstream>
#include <string>

namespace detol::inline scheduler {

std::int64_t oom_kills() {
  std::ifstream groups("/proc/self/cgroup");  // "0::/user.slice/..."
  std::string line, folder;
  while (std::getline(groups, line)) {
    if (line.starts_with("0::")) folder = "/sys/fs/cgroup" + line.substr(3);
  }
  std::ifstream events(folder + "/memory.events");
  std::string word;
  std::int64_t count = 0;
  while (events >> word >> count) {
    if (word == "oom_kill") return count;
  }
  return 0;
}

}  // namespace detol::inline scheduler
