#include "bench/ledger.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "bench/throughput.h"
#include "core/log.h"

namespace detol::inline bench {
namespace {

namespace fs = std::filesystem;

constexpr int kLedgerRuns = 3;

// Returns what was measured with so many peers; zeros if that failed.
Throughput throughput_with(int peers) {
  const fs::path folder = fs::current_path() / fmt::format("detol-bench-{}", ::getpid());
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  const auto measured = measure_throughput(
      {.peers = peers, .reports = peers == 1 ? 1'000 : 100'000, .folder = folder});
  fs::remove_all(folder, ignored);
  if (!measured) log_warning("{}", measured.error().message);
  return measured.value_or(Throughput());
}

}  // namespace

void bench_ledger(Figures& figures) {
  for (const int peers : {1, 16, 100, 1000}) {
    const std::string suffix = fmt::format("/peers={}", peers);
    if (!figures.wants("reports" + suffix) && !figures.wants("master" + suffix)) continue;
    std::vector<double> reports, master;
    for (int i = 0; i < kLedgerRuns; ++i) {
      const Throughput measured = throughput_with(peers);
      reports.push_back(measured.per_second);
      master.push_back(1e6 * measured.master_s);
    }
    figures.add(median_figure("reports" + suffix, "1/s", reports));
    figures.add(median_figure("master" + suffix, "us", master));
  }
}

}  // namespace detol::inline bench
