#include "trainer/bench_group.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/clock.h"
#include "trainer/bench.h"
#include "trainer/bench_networks.h"
#include "trainer/mpi_group.h"
#include "trainer/onednn/onednn.h"

namespace detol {
namespace {

constexpr std::string_view kWord = "__bench_rank";
constexpr std::int64_t kBatch = 128;
constexpr int kSteps = 10;

// Of the whole group, in steps that follow a first one.
double images_per_second_with(Group& group) {
  const Network network = make_resnet({.blocks = 3});
  const auto executable =
      compile_onednn(network, Recipe{.batch_size = kBatch}, {.group = &group}).value();
  prepare_with_noise(network, *executable);
  executable->train_step({.lr = 0.001});
  const double start = system_clock().now_s();
  for (int step = 1; step <= kSteps; ++step) executable->train_step({.lr = 0.001, .step = step});
  return static_cast<double>(kBatch * kSteps) / (system_clock().now_s() - start);
}

// Becomes the launcher of this program's ranks.
[[noreturn]] void launch(int ranks) {
  std::array<char, 4096> self{};
  if (readlink("/proc/self/exe", self.data(), self.size() - 1) < 0) _exit(1);
  MpiLaunch job = mpi_launch(ranks);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a forked process has one thread
  for (std::string& setting : job.environment) putenv(setting.data());
  std::string word(kWord);
  std::vector<char*> words = {job.mpiexec.data()};
  for (std::string& one : job.words) words.push_back(one.data());
  for (char* one : {self.data(), word.data(), static_cast<char*>(nullptr)}) words.push_back(one);
  execv(words[0], words.data());
  _exit(1);
}

}  // namespace

std::optional<int> run_bench_rank(int argc, char** argv) {
  if (argc != 2 || argv[1] != kWord) return std::nullopt;
  const auto joined = join_mpi_group();
  if (!joined) return 1;
  const double rate = images_per_second_with(**joined);
  if ((*joined)->rank() == 0) fmt::print("{}\n", rate);
  std::fflush(stdout);
  leave_mpi();
  return 0;
}

// One rank is a process of its own, too, but no MPI job.
double group_images_per_second(int ranks) {
  int pipes[2];
  if (pipe(pipes) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipes[1], STDOUT_FILENO);
    close(pipes[0]);
    close(pipes[1]);
    if (ranks > 1) launch(ranks);
    const std::string rate = fmt::format("{}\n", images_per_second_with(alone()));
    _exit(write(STDOUT_FILENO, rate.data(), rate.size()) > 0 ? 0 : 1);
  }
  close(pipes[1]);
  double rate = 0;
  if (std::FILE* output = fdopen(pipes[0], "r")) {
    if (std::fscanf(output, "%lf", &rate) != 1) rate = 0;
    std::fclose(output);
  }
  if (child > 0) waitpid(child, nullptr, 0);
  return rate;
}

}  // namespace detol
