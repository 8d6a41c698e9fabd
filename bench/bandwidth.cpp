#include "bench/bandwidth.h"

#include <vector>

#include "core/clock.h"

namespace detol::inline bench {
namespace {

volatile double g_sink;  // keeps the compiler from dropping the probe

}  // namespace

double probe_bandwidth() {
  static std::vector<double> a(1 << 23), b(1 << 23, 1.0), c(1 << 23, 2.0);
  const double start = thread_seconds();
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = b[i] + 3.0 * c[i];
  const double seconds = thread_seconds() - start;
  g_sink = a[a.size() / 2];
  return 3.0 * sizeof(double) * static_cast<double>(a.size()) / seconds * 1e-9;
}

}  // namespace detol::inline bench
