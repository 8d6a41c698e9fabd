#include "bench/layers.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/bandwidth.h"
#include "bench/cases.h"
#include "bench/networks.h"
#include "core/peak.h"
#include "trainer/backends/cpu/backend.h"

namespace detol::inline bench {
namespace {

constexpr std::int64_t kLayerBatch = 64;
constexpr int kSteps = 12;
constexpr int kSkipped = 2;  // the first of them: caches and pages are cold

// Returns the least time in seconds, by operations or by bandwidth.
double roof_s(const Needs& needs, double peak_gflops, double bandwidth) {
  return 1e-9 * std::max(needs.operations / peak_gflops, sizeof(float) * needs.numbers / bandwidth);
}

void measure_layer(const LayerCase& one, double peak_gflops, double bandwidth, Figures& figures) {
  const std::string name = fmt::format("layer/{},{}", one.name, to_text(one.input));
  const CaseNetwork subject = network_of(one);
  const auto times =
      time_cpu(subject.network, {.batch_size = kLayerBatch}, kSteps, [&](Executable& executable) {
        prepare_with_noise(subject.network, executable);
      }).value();
  const LayerNeeds needs = needs_of(subject.network, subject.node, kLayerBatch);
  const double forward_s = roof_s(needs.forward, peak_gflops, bandwidth);
  const double backward_s = roof_s(needs.backward, peak_gflops, bandwidth);
  std::vector<double> forward, backward;
  for (std::size_t i = kSkipped; i < times.size(); ++i) {
    const NodeTime& time = times[i][subject.node];
    forward.push_back(forward_s / time.forward_s);
    // An addition has no backward step: its gradient is passed on.
    if (time.backward_s > 0) backward.push_back(backward_s / time.backward_s);
  }
  figures.add(median_figure(name + ",forward", "fraction", std::move(forward)));
  if (!backward.empty())
    figures.add(median_figure(name + ",backward", "fraction", std::move(backward)));
}

}  // namespace

void bench_layers(Figures& figures) {
  double peak_gflops = 0, bandwidth = 0;
  for (int i = 0; i < 100; ++i) peak_gflops = std::max(peak_gflops, probe_fma());
  for (int i = 0; i < 5; ++i) bandwidth = std::max(bandwidth, probe_bandwidth());
  for (const LayerCase& one : layer_cases()) {
    const std::string name = fmt::format("layer/{},{},", one.name, to_text(one.input));
    if (figures.wants(name + "forward") || figures.wants(name + "backward"))
      measure_layer(one, peak_gflops, bandwidth, figures);
  }
}

}  // namespace detol::inline bench
