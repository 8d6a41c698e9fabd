#include "bench/trainer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>

#include "bench/bandwidth.h"
#include "bench/group.h"
#include "bench/loader.h"
#include "bench/networks.h"
#include "core/child_process.h"
#include "core/clock.h"
#include "core/peak.h"
#include "core/table.h"
#include "trainer/backends/cpu/backend.h"

namespace detol::inline bench {
namespace {

struct Workload {
  std::string_view network;
  std::int64_t batch;
};

constexpr std::array kWorkloads = {
    Workload{"lenet", 64},   Workload{"resnet8", 1},   Workload{"resnet8", 2},
    Workload{"resnet8", 64}, Workload{"resnet8", 128}, Workload{"resnet20", 64},
    Workload{"nb201", 64},   Workload{"mlp", 1},       Workload{"mlp", 64},
    Workload{"wide64", 64},
};

Network named_network(std::string_view name) {
  return find_row(bench_networks(), name)->make();
}

std::unique_ptr<Executable> compiled(const Network& network, std::int64_t batch) {
  Recipe recipe;
  recipe.batch_size = batch;
  return compile_cpu(network, recipe, {}).value();
}

std::unique_ptr<Executable> ready_to_train(std::string_view name, std::int64_t batch) {
  const Network network = named_network(name);
  auto executable = compiled(network, batch);
  prepare_with_noise(network, *executable);
  return executable;
}

Figure peak() {
  std::vector<double> samples;
  for (int i = 0; i < 200; ++i) samples.push_back(probe_fma());
  Figure peak = median_figure("peak_fma", "GFLOP/s", samples);
  peak.value = *std::ranges::max_element(samples);
  return peak;
}

std::string workload_name(std::string_view figure, const Workload& workload) {
  return fmt::format("{}/{},batch={}", figure, workload.network, workload.batch);
}

// Measures steps for about a second, at least eleven.
Figure training(const Workload& workload) {
  const auto executable = ready_to_train(workload.network, workload.batch);
  const auto step = [&] {
    const double start = thread_seconds();
    executable->train_step({.lr = 0.001});
    return thread_seconds() - start;
  };
  for (int i = 0; i < 3; ++i) step();
  const int times = std::clamp(static_cast<int>(1.0 / step()), 11, 400);
  const auto images = static_cast<double>(workload.batch);
  std::vector<double> samples;
  for (int i = 0; i < times; ++i) samples.push_back(images / step());
  return median_figure(workload_name("train", workload), "images/s", std::move(samples));
}

Figure roof(const Workload& workload, const Figure& train, double peak_gflops) {
  const double gflops = train.value * training_flops(named_network(workload.network)) * 1e-9;
  return {workload_name("roof", workload), gflops / peak_gflops, "fraction", train.n, train.spread};
}

double warm_compile_ms(const Network& network) {
  const double start = thread_seconds();
  compiled(network, 64);
  return 1e3 * (thread_seconds() - start);
}

// Measures a compilation in a process that has compiled another network, but none of these shapes.
double compile_cold_ms(const Network& network, const Network& other) {
  forget_compiled();
  compiled(other, 64);
  return warm_compile_ms(network);
}

// Trains for half a second of steps, by the wall clock, in a forked process.
double trained_images_per_second() {
  const auto executable = ready_to_train("resnet8", 64);
  executable->train_step({.lr = 0.001});
  const double start = system_clock().now_s();
  double images = 0, seconds = 0;
  for (; seconds < 0.5; seconds = system_clock().now_s() - start) {
    executable->train_step({.lr = 0.001});
    images += 64;
  }
  return images / seconds;
}

// Returns the sum of the results of `processes` concurrent processes; 0 if none could start.
double sum_of_processes(int processes, const std::function<double()>& measure) {
  int pipes[2];
  if (pipe(pipes) != 0) return 0;
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = fork();
    if (child > 0) children.push_back(child);
    if (child != 0) continue;
    const double number = measure();
    _exit(write(pipes[1], &number, sizeof number) == sizeof number ? 0 : 1);
  }
  close(pipes[1]);
  double total = 0, number = 0;
  while (read(pipes[0], &number, sizeof number) == sizeof number) total += number;
  close(pipes[0]);
  for (pid_t child : children) wait_for_end(child);
  return total;
}

double images_per_second_of(int processes) {
  return sum_of_processes(processes, trained_images_per_second);
}

// Returns the resident memory of this process, in bytes.
double resident_bytes() {
  double pages = 0;
  std::ifstream statm("/proc/self/statm");
  statm >> pages >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// Returns the memory that a candidate adds to a process that trained another, over its plan.
double resident_over_planned(std::string_view name) {
  ready_to_train("mlp", 1)->train_step({.lr = 0.001});
  forget_compiled();
  const double before = resident_bytes();
  const auto executable = ready_to_train(name, 64);
  for (int i = 0; i < 2; ++i) executable->train_step({.lr = 0.001});
  return (resident_bytes() - before) / static_cast<double>(executable->bytes());
}

}  // namespace

double training_flops(const Network& network) {
  std::vector<bool> trained(network.nodes().size());
  double flops = 0;
  for (NodeId id = 0; id < network.nodes().size(); ++id) {
    const Node& node = network.nodes()[id];
    const std::vector<Shape> shapes = network.input_shapes(id);
    const bool before =
        std::ranges::any_of(node.inputs, [&](NodeId input) { return bool{trained[input]}; });
    flops += (before ? 3 : 2) * flops_of(node.layer, shapes, node.shape);
    trained[id] = before || !parameters_of(node.layer, shapes).empty();
  }
  return flops;
}

void bench_trainer(Figures& figures) {
  std::optional<Figure> peak_fma;
  const auto peak_gflops = [&] {
    if (!peak_fma) peak_fma = peak();
    return peak_fma->value;
  };
  if (figures.wants("peak_fma")) {
    peak_gflops();
    figures.add(*peak_fma);
  }
  figures.measure("bandwidth", "GB/s", 9, probe_bandwidth);
  for (const Workload& workload : kWorkloads) {
    const bool wants_roof = figures.wants(workload_name("roof", workload));
    if (!wants_roof && !figures.wants(workload_name("train", workload))) continue;
    const Figure train = training(workload);
    figures.add(train);
    if (wants_roof) figures.add(roof(workload, train, peak_gflops()));
  }
  for (const BenchNetworkRow& row : bench_networks()) {
    const Network network = row.make();
    const Network other = named_network(row.name == "lenet" ? "mlp" : "lenet");
    figures.measure(fmt::format("compile_cold/{}", row.name), "ms", 7,
                    [&] { return compile_cold_ms(network, other); });
    figures.measure(fmt::format("compile_warm/{}", row.name), "ms", 15,
                    [&] { return warm_compile_ms(network); });
    figures.measure(fmt::format("resident/{},batch=64", row.name), "times the plan", 3, [&] {
      return sum_of_processes(1, [&] { return resident_over_planned(row.name); });
    });
  }
  bench_loader(figures);
  figures.measure("workers/2", "times", 5,
                  [] { return images_per_second_of(2) / images_per_second_of(1); });
  figures.measure("group/2", "times", 3,
                  [] { return group_images_per_second(2) / group_images_per_second(1); });
  figures.measure("group_cpu/2", "times", 3,
                  [] { return group_step_seconds(1) / group_step_seconds(2); });
}

}  // namespace detol::inline bench
