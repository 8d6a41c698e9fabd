#include "bench/cuda.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/cases.h"
#include "bench/figures.h"
#include "bench/networks.h"
#include "core/clock.h"
#include "encodings/network/cost.h"
#include "trainer/backends/cuda/load.h"
#include "trainer/backends/plan.h"
#include "trainer/training_memory.h"

namespace detol::inline bench {
namespace {

Recipe recipe_of(const CudaBench& bench) {
  return {.batch_size = bench.batch, .precision = bench.precision};
}

double bytes_each(const CudaBench& bench) {
  return bench.precision == "bf16" ? 2 : 4;
}

TimeAndFloor against(const Needs& needs, const CudaBench& bench, const DevicePeaks& peaks,
                     double time_s) {
  return {.time_s = time_s,
          .bytes_s = bytes_each(bench) * needs.numbers / peaks.bytes_per_s,
          .product_s = needs.operations / peaks.flops_per_s};
}

// Returns the needs of a unit: its inputs and outputs are read or written once, values between
// fused layers not at all.
LayerNeeds needs_of(const Network& network, const Unit& unit, std::int64_t batch) {
  LayerNeeds needs = needs_of(network, unit.node, batch);
  if (!unit.addend) return needs;
  const auto addend = static_cast<double>(batch * network.nodes()[*unit.addend].shape.elements());
  needs.forward.numbers += addend;
  needs.backward.numbers += addend;
  return needs;
}

// Returns which nodes need a backward step: those that have parameters or follow a node that has.
std::vector<bool> wants_gradients(const Network& network) {
  std::vector<bool> wanted(network.nodes().size());
  for (NodeId id = 0; id < network.nodes().size(); ++id) {
    const Node& node = network.nodes()[id];
    wanted[id] =
        !parameters_of(node.layer, network.input_shapes(id)).empty() ||
        std::ranges::any_of(node.inputs, [&](NodeId input) { return bool{wanted[input]}; });
  }
  return wanted;
}

// Returns the bytes of the update: it reads weights, moments and gradients, and writes the first
// two and the copy of the weights in bf16.
double update_bytes(const Network& network, const CudaBench& bench) {
  double weights = 0;
  for (const NetworkParameter& parameter : network.parameters())
    weights += parameter.spec.trainable ? static_cast<double>(parameter.spec.elements()) : 0;
  const double copy = bench.precision == "bf16" ? 2 : 0;
  return weights * (5 * sizeof(float) + copy);
}

double floor_of(const Network& network, const CudaBench& bench, const DevicePeaks& peaks) {
  const std::vector<bool> wanted = wants_gradients(network);
  double floor_s = update_bytes(network, bench) / peaks.bytes_per_s;
  for (const Unit& unit : plan_units(network)) {
    LayerNeeds needs = needs_of(network, unit, bench.batch);
    floor_s += against(needs.forward, bench, peaks, 0).floor_s();
    if (!wanted[unit.node]) continue;
    const bool is_first = std::ranges::none_of(network.nodes()[unit.node].inputs,
                                               [&](NodeId input) { return bool{wanted[input]}; });
    if (is_first) needs.backward.operations /= 2;
    floor_s += against(needs.backward, bench, peaks, 0).floor_s();
  }
  return floor_s;
}

struct Compilation {
  double ms = 0, bytes = 0;
};

Result<Compilation> compile_timed(const Network& network, const CudaBench& bench) {
  const double start_s = system_clock().now_s();
  DETOL_ASSIGN(const auto executable, compile_cudnn(network, recipe_of(bench), {}));
  return Compilation{.ms = 1e3 * (system_clock().now_s() - start_s),
                     .bytes = static_cast<double>(executable->bytes())};
}

Result<NetworkOnDevice> measure_on_device(const BenchNetworkRow& row, const CudaBench& bench,
                                          const DevicePeaks& peaks) {
  DETOL_ASSIGN(const CudaPlugin* plugin, cuda_plugin());
  const Network network = row.make();
  NetworkOnDevice made{.name = std::string(row.name)};
  DETOL_ASSIGN(const Compilation cold, compile_timed(network, bench));
  DETOL_ASSIGN(const Compilation warm, compile_timed(network, bench));
  DETOL_ASSIGN(Cost cost, cost_of(network));
  DETOL_ASSIGN(cost.memory, training_bytes(network, recipe_of(bench)));
  made.compile_cold_ms = cold.ms;
  made.compile_warm_ms = warm.ms;
  made.bytes = warm.bytes;
  made.foreseen_bytes = device_bytes({network, recipe_of(bench), cost});
  DETOL_ASSIGN(const NetworkSeconds seconds,
               plugin->time_network(network, recipe_of(bench), bench.runs));
  const Figure step = median_figure(made.name, "s", seconds.steps);
  const auto images = static_cast<double>(bench.batch);
  made.images_per_s = images / step.value;
  made.floor_images_per_s = images / floor_of(network, bench, peaks);
  made.n = step.n;
  made.spread = step.spread;
  return made;
}

Result<LayerOnDevice> measure_on_device(const LayerCase& one, const CudaBench& bench,
                                        const DevicePeaks& peaks) {
  DETOL_ASSIGN(const CudaPlugin* plugin, cuda_plugin());
  const CaseNetwork subject = network_of(one);
  DETOL_ASSIGN(const NetworkSeconds seconds,
               plugin->time_network(subject.network, recipe_of(bench), bench.runs));
  const NodeSeconds& node = seconds.nodes.at(subject.node);
  const LayerNeeds needs = needs_of(subject.network, subject.node, bench.batch);
  return LayerOnDevice{.name = fmt::format("{},{}", one.name, to_text(one.input)),
                       .forward = against(needs.forward, bench, peaks, node.forward),
                       .backward = against(needs.backward, bench, peaks, node.backward)};
}

}  // namespace

Result<DevicePeaks> device_peaks(const CudaBench& bench) {
  DETOL_ASSIGN(const CudaPlugin* plugin, cuda_plugin());
  return plugin->peaks(bench.precision);
}

Result<void> bench_layers_cuda(const CudaBench& bench, const DevicePeaks& peaks,
                               const std::function<void(const LayerOnDevice&)>& on_layer) {
  for (const LayerCase& one : layer_cases()) {
    if (fmt::format("{},{}", one.name, to_text(one.input)).find(bench.only) == std::string::npos)
      continue;
    DETOL_ASSIGN(const LayerOnDevice layer, measure_on_device(one, bench, peaks));
    on_layer(layer);
  }
  return {};
}

Result<void> bench_networks_cuda(const CudaBench& bench, const DevicePeaks& peaks,
                                 const std::function<void(const NetworkOnDevice&)>& on_network) {
  for (const BenchNetworkRow& row : bench_networks()) {
    if (row.name.find(bench.only) == std::string_view::npos) continue;
    DETOL_ASSIGN(const NetworkOnDevice network, measure_on_device(row, bench, peaks));
    on_network(network);
  }
  return {};
}

}  // namespace detol::inline bench
