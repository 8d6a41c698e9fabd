#include "scheduler/launchers/remote.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

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

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return ::access(name.c_str(), X_OK) == 0 ? std::filesystem::absolute(name).string() : "";
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string program = folder + "/" + name;
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

}  // namespace detol::inline scheduler
