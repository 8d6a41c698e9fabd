#include "scheduler/launchers/remote.h"

#include <fmt/format.h>

#include "core/program.h"

namespace detol::inline scheduler {

std::vector<std::string> worker_words(const RemoteWorker& worker, int ranks, int slot) {
  return {"env",
          fmt::format("DETOL_LAUNCHED={}:{}:{}", worker.number, worker.start, slot),
          program_path().string(),
          "worker",
          "--join",
          worker.study,
          "--storage",
          worker.storage,
          "--group-size",
          std::to_string(ranks)};
}

}  // namespace detol::inline scheduler
