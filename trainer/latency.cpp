#include "trainer/latency.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/clock.h"

namespace detol::inline trainer {
namespace {

constexpr double kLongEnoughS = 0.25;
constexpr std::size_t kFewest = 10, kMost = 1000;  // passes
constexpr int kUncounted = 2;                      // first passes, which fill caches

// Returns the seconds of each counted pass.
Result<std::vector<double>> timed_passes(const Network& network, const BackendRow& backend,
                                         TaskKind task, int batch,
                                         const std::function<void()>& on_pass) {
  const Recipe recipe{.batch_size = batch, .loss = std::string(row_of(task).losses.front())};
  DETOL_ASSIGN(const auto executable, backend.compile(network, recipe, {}));
  executable->set_state({initial_weights(network, /*seed=*/0), {}});
  std::ranges::fill(executable->images(), 0.0F);
  const auto pass_s = [&] {
    const double began_s = system_clock().now_s();
    executable->evaluate(batch);
    const double taken_s = system_clock().now_s() - began_s;
    on_pass();
    return taken_s;
  };
  for (int i = 0; i < kUncounted; ++i) (void)pass_s();
  std::vector<double> passes;
  for (double sum_s = 0;
       passes.size() < kFewest || (sum_s < kLongEnoughS && passes.size() < kMost);) {
    passes.push_back(pass_s());
    sum_s += passes.back();
  }
  return passes;
}

}  // namespace

Result<double> latency_s(const Network& network, const BackendRow& backend, TaskKind task,
                         int batch, const std::function<void()>& on_pass) {
  DETOL_ASSIGN(auto passes, timed_passes(network, backend, task, batch, on_pass));
  const auto middle = passes.begin() + static_cast<std::ptrdiff_t>(passes.size() / 2);
  std::ranges::nth_element(passes, middle);
  return *middle;
}

Result<double> shortest_latency_s(const Network& network, const BackendRow& backend, TaskKind task,
                                  int batch, const std::function<void()>& on_pass) {
  DETOL_ASSIGN(const auto passes, timed_passes(network, backend, task, batch, on_pass));
  return std::ranges::min(passes);
}

}  // namespace detol::inline trainer
