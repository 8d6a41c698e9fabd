#include "bench/cuda_rows.h"

#include <fmt/format.h>

#include "bench/cuda.h"
#include "core/log.h"
#include "printing/output.h"

namespace detol::inline bench {
namespace {

void put(std::vector<Cell>& row, const TimeAndFloor& measured) {
  constexpr std::size_t kColumns = 4;
  if (measured.time_s <= 0) {
    row.resize(row.size() + kColumns);
    return;
  }
  for (const double number : {1e6 * measured.time_s, 1e6 * measured.floor_s(), measured.ratio()})
    row.emplace_back(number);
  row.emplace_back(std::string(measured.bound()));
}

Result<Rows> layers(const CudaBench& bench, const DevicePeaks& peaks) {
  Rows rows{.columns = {"layer", "forward_us", "forward_floor_us", "forward_ratio", "forward_bound",
                        "backward_us", "backward_floor_us", "backward_ratio", "backward_bound"},
            .rows = {}};
  DETOL_TRY(bench_layers_cuda(bench, peaks, [&](const LayerOnDevice& layer) {
    log_info("{} forward {:.2f} x its floor, backward {:.2f}", layer.name, layer.forward.ratio(),
             layer.backward.ratio());
    std::vector<Cell>& row = rows.rows.emplace_back();
    row.emplace_back(layer.name);
    put(row, layer.forward);
    put(row, layer.backward);
  }));
  return rows;
}

Result<Rows> networks(const CudaBench& bench, const DevicePeaks& peaks) {
  Rows rows{
      .columns = {"network", "batch", "precision", "images_per_s", "floor_images_per_s", "ratio",
                  "compile_cold_ms", "compile_warm_ms", "mb", "foreseen_mb", "n", "spread"},
      .rows = {}};
  DETOL_TRY(bench_networks_cuda(bench, peaks, [&](const NetworkOnDevice& network) {
    log_info("{} {:.4g} images/s", network.name, network.images_per_s);
    rows.rows.push_back({network.name, bench.batch, bench.precision, network.images_per_s,
                         network.floor_images_per_s,
                         network.floor_images_per_s / network.images_per_s, network.compile_cold_ms,
                         network.compile_warm_ms, 1e-6 * network.bytes,
                         1e-6 * network.foreseen_bytes, network.n, network.spread});
  }));
  return rows;
}

}  // namespace

Result<int> bench_device(const Arguments& arguments) {
  const std::string what = arguments.text("WHAT");
  if (what != "trainer" && what != "layers")
    return fail(ErrorCode::kUsage,
                fmt::format("bench {} measures no device; leave --device out", what));
  DETOL_ASSIGN(const std::optional<std::int64_t> batch, arguments.number("batch", 1));
  const CudaBench bench{.precision = arguments.text("precision", "bf16"),
                        .only = arguments.text("only"),
                        .batch = batch.value_or(256)};
  DETOL_ASSIGN(const DevicePeaks peaks, device_peaks(bench));
  log_info("copies {:.0f} GB/s, {} products {:.1f} TFLOP/s", 1e-9 * peaks.bytes_per_s,
           bench.precision, 1e-12 * peaks.flops_per_s);
  DETOL_ASSIGN(const Rows rows, what == "layers" ? layers(bench, peaks) : networks(bench, peaks));
  if (rows.rows.empty())
    return fail(ErrorCode::kUsage, fmt::format("--only is '{}'; no name contains it", bench.only));
  return show(rows, arguments.globals);
}

}  // namespace detol::inline bench
