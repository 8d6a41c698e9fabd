#include "bench/group.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/networks.h"
#include "core/child_process.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/program.h"
#include "core/table.h"
#include "trainer/backends/cpu/backend.h"
#include "trainer/collectives/mpi_group.h"
#include "trainer/data/batches.h"
#include "trainer/data/formats/formats.h"

namespace detol::inline bench {
namespace {

constexpr std::string_view kWord = "__bench_rank";
constexpr std::string_view kFashionMnist = "/usr/share/datasets/fashion-mnist";
constexpr std::int64_t kGlobalBatch = 128;
constexpr int kLastSteps = 20;  // GroupResult::loss is their mean

// GroupWork: the training that the ranks of a group do.
struct GroupWork {
  std::string_view network;
  std::string_view compression = "none";
  int staleness = 0;
  double lr = 0.02;
  int steps = 11;
};

struct GroupResult {
  double images_per_second = 0;  // of the group, by the wall clock, after the first steps
  double step_s = 0;             // CPU time of a step, the mean over the ranks
  double loss = 0;               // the mean of the last steps
};

constexpr std::string_view kNoiseNetwork = "resnet20";

Network group_network(std::string_view name) {
  if (name == "resnet8") return make_resnet({.input = {1, 28, 28}});
  return find_row(bench_networks(), name)->make();
}

// Rank trains steps of the first epoch, or always the same batch of noise.
class Rank {
 public:
  Rank(Group& group, const GroupWork& work)
      : group_(group),
        work_(work),
        network_(group_network(work.network)),
        recipe_{.batch_size = kGlobalBatch,
                .compression = std::string(work.compression),
                .staleness = work.staleness},
        executable_(compile_cpu(network_, recipe_, {.group = &group}).value()) {
    prepare_with_noise(network_, *executable_);
    if (work.network == kNoiseNetwork) return;
    auto data = load_dataset({.format = "idx", .path = std::string(kFashionMnist)});
    if (!data) return;
    data_ = *std::move(data);
    batches_.emplace(*data_, recipe_, 1);
    batches_->start_epoch(1);
  }

  GroupResult run() {
    const int first = work_.staleness + 1;
    for (int step = 0; step < first; ++step) take_step(step);
    group_.share("");
    const double start = system_clock().now_s(), cpu_start = thread_seconds();
    double loss = 0;
    for (int step = first; step < work_.steps; ++step) {
      const double one = take_step(step);
      if (step >= work_.steps - kLastSteps) loss += one / kLastSteps;
    }
    const double cpu_s = thread_seconds() - cpu_start;
    const double clock_s = system_clock().now_s() - start;
    group_.finish();
    std::array<double, 2> sums = {loss, cpu_s};
    group_.sum(std::span(sums));
    const double steps = work_.steps - first;
    return {static_cast<double>(kGlobalBatch) * steps / clock_s, sums[1] / steps / group_.size(),
            sums[0]};
  }

 private:
  // Returns this rank's share of the loss.
  double take_step(int step) {
    if (batches_)
      batches_->fill(step, executable_->micro_batches().front(), executable_->images(),
                     executable_->targets());
    return executable_->train_step({.lr = work_.lr, .step = step}).loss;
  }

  Group& group_;
  const GroupWork work_;
  const Network network_;
  const Recipe recipe_;
  std::unique_ptr<Executable> executable_;
  std::optional<Dataset> data_;
  std::optional<Batches> batches_;
};

// Replaces this process by the MPI launcher of the ranks.
[[noreturn]] void launch(int ranks, const GroupWork& work) {
  MpiLaunch job = mpi_launch(ranks);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a forked process has one thread
  for (std::string& setting : job.environment) putenv(setting.data());
  std::vector<std::string> own = {program_path().string(),           std::string(kWord),
                                  std::string(work.network),         std::string(work.compression),
                                  fmt::format("{}", work.staleness), fmt::format("{}", work.lr),
                                  fmt::format("{}", work.steps)};
  std::vector<char*> words = {job.mpiexec.data()};
  for (std::string& one : job.words) words.push_back(one.data());
  for (std::string& one : own) words.push_back(one.data());
  words.push_back(nullptr);
  execv(words[0], words.data());
  _exit(1);
}

void print(const GroupResult& result) {
  fmt::print("{} {} {}\n", result.images_per_second, result.step_s, result.loss);
  std::fflush(stdout);
}

// Starts the ranks in processes of their own, one alone without MPI. Returns zeros if that fails.
GroupResult run_group(int ranks, const GroupWork& work) {
  int pipes[2];
  if (pipe(pipes) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipes[1], STDOUT_FILENO);
    close(pipes[0]);
    close(pipes[1]);
    if (ranks > 1) launch(ranks, work);
    print(Rank(alone(), work).run());
    _exit(0);
  }
  close(pipes[1]);
  GroupResult result;
  if (std::FILE* output = fdopen(pipes[0], "r")) {
    if (std::fscanf(output, "%lf %lf %lf", &result.images_per_second, &result.step_s,
                    &result.loss) != 3)
      result = {};
    std::fclose(output);
  }
  if (child > 0) wait_for_end(child);
  return result;
}

constexpr double kSlow = 0.005;

constexpr std::array kExchanges = {
    GroupWork{.network = "", .compression = "none"},
    GroupWork{.network = "", .compression = "fp16"},
    GroupWork{.network = "", .compression = "top_k"},
    GroupWork{.network = "", .staleness = 2},
    GroupWork{.network = "", .compression = "top_k", .staleness = 2},
    GroupWork{.network = "", .lr = kSlow},
    GroupWork{.network = "", .staleness = 2, .lr = kSlow},
};

std::string exchange_name(std::string_view network, int ranks, const GroupWork& work) {
  return fmt::format("{},ranks={},{}{}{}", network, ranks, work.compression,
                     work.staleness > 0 ? "+late" : "", work.lr == kSlow ? "+slow" : "");
}

// Measures all exchanges in turn, three times, each relative to the first of the same round.
void bench_exchanges(Figures& figures, std::string_view network, int ranks) {
  std::map<std::string, std::vector<double>> samples;
  for (int round = 0; round < 3; ++round) {
    GroupResult none;
    for (GroupWork work : kExchanges) {
      work.network = network;
      work.steps = 100;
      const GroupResult result = run_group(ranks, work);
      if (none.step_s == 0) none = result;
      const std::string name = exchange_name(network, ranks, work);
      samples["group/" + name].push_back(result.images_per_second / none.images_per_second);
      samples["group_cpu/" + name].push_back(result.step_s / none.step_s);
      samples["group_loss/" + name].push_back(result.loss);
    }
  }
  for (auto& [name, values] : samples) {
    const std::string_view unit = name.starts_with("group_loss") ? "nats" : "times";
    figures.add(median_figure(name, unit, std::move(values)));
  }
}

}  // namespace

std::optional<int> run_bench_rank(int argc, char** argv) {
  if (argc != 7 || argv[1] != kWord) return std::nullopt;
  const auto joined = join_mpi_group();
  if (!joined) return 1;
  const GroupWork work{argv[2], argv[3], std::atoi(argv[4]), std::atof(argv[5]),
                       std::atoi(argv[6])};
  const GroupResult result = Rank(**joined, work).run();
  if ((*joined)->rank() == 0) print(result);
  leave_mpi();
  return 0;
}

double group_images_per_second(int ranks) {
  return run_group(ranks, {.network = kNoiseNetwork}).images_per_second;
}

double group_step_seconds(int ranks) {
  return run_group(ranks, {.network = kNoiseNetwork}).step_s;
}

void bench_groups(Figures& figures) {
  if (const auto found = load_dataset({.format = "idx", .path = std::string(kFashionMnist)});
      !found)
    return log_warning("no figures of groups: {}", found.error().message);
  for (const std::string_view network : {"mlp", "resnet8", "lenet"}) {
    for (const int ranks : {2, 3, 4}) {
      bool is_wanted = false;
      for (const GroupWork& work : kExchanges) {
        for (const char* figure : {"group/", "group_cpu/", "group_loss/"})
          is_wanted = is_wanted || figures.wants(figure + exchange_name(network, ranks, work));
      }
      if (is_wanted) bench_exchanges(figures, network, ranks);
    }
  }
}

}  // namespace detol::inline bench
