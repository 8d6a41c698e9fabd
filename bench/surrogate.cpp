#include "bench/surrogate.h"

#include <algorithm>
#include <array>

#include "bench/proposals.h"
#include "core/clock.h"
#include "core/rng.h"
#include "surrogate/candidate_pool.h"
#include "surrogate/cholesky.h"
#include "surrogate/kernel.h"

namespace detol::inline bench {
namespace {

struct FactorSize {
  std::size_t n;
  int appends, factorisations;  // how often each is measured
};

constexpr std::array kFactorSizes = {FactorSize{1000, 301, 15}, FactorSize{2000, 201, 7},
                                     FactorSize{5000, 51, 3}};
constexpr double kNoiseVariance = 1e-3;
constexpr std::string_view kPool = "pool_append/n=2000,m=1000";

Features ten_dimensional_features() {
  SpaceBuilder builder;
  for (int i = 0; i < 10; ++i) builder.add_float("x" + std::to_string(i), 0, 1);
  return Features(builder.build().value());
}

// Observations: random points of the unit cube, and the covariance of observations there.
struct Observations {
  Features features = ten_dimensional_features();
  Kernel kernel{features, default_parameters(features)};
  Points points = features.empty_points();

  Observations(std::size_t n, std::uint64_t seed) {
    Rng rng(seed);
    for (std::size_t i = 0; i < n; ++i) {
      Point point{.numbers = std::vector<double>(10), .categories = {}, .graph = {}};
      for (double& number : point.numbers) number = rng.uniform();
      points.push_back(point);
    }
  }

  std::vector<double> covariance() const {
    std::vector<double> matrix = kernel.gram(points);
    for (std::size_t i = 0; i < points.size(); ++i)
      matrix[i * (points.size() + 1)] += kNoiseVariance;
    return matrix;
  }

  // Returns the covariance of a point with all of these.
  std::vector<double> row(const Point& point) const {
    std::vector<double> row(points.size());
    kernel.row(point, points, row);
    return row;
  }

  double diagonal() const { return kernel.variance() + kNoiseVariance; }
};

template <typename Work>
double cpu_seconds_of(Work work) {
  const double before_s = thread_seconds();
  work();
  return thread_seconds() - before_s;
}

// Sums in enough lanes that no addition waits for another, as fast as memory is read.
double sum(const double* first, const double* last) {
  std::array<double, 32> lanes{};
  for (; last - first >= std::ssize(lanes); first += lanes.size())
    for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] += first[i];
  double total = 0;
  for (const double lane : lanes) total += lane;
  for (; first != last; ++first) total += *first;
  return total;
}

// The rows of a block follow each other in memory, so a block is one long read.
double sum(const Cholesky& factor) {
  double total = 0;
  for (std::size_t i = 0; i < factor.size(); i += Cholesky::kRows) {
    const auto last = factor.row(std::min(i + Cholesky::kRows, factor.size()) - 1);
    total += sum(factor.row(i).data(), last.data() + last.size());
  }
  return total;
}

std::vector<Figure> factor_figures(const FactorSize& size) {
  const Observations observations(size.n, size.n);
  Cholesky factor;
  std::vector<double> appends_us, floors_us, refactors_us;
  {
    const std::vector<double> matrix = observations.covariance();
    for (int i = 0; i < size.factorisations; ++i)
      refactors_us.push_back(1e6 * cpu_seconds_of([&] { factor.factorise(matrix, size.n); }));
  }
  const std::vector<double> row = observations.row(Observations(1, 1).points[0]);
  volatile double total = 0;  // keeps the compiler from dropping the sum
  for (int i = 0; i < size.appends; ++i) {
    appends_us.push_back(1e6 *
                         cpu_seconds_of([&] { factor.append(row, observations.diagonal()); }));
    factor.truncate(size.n);
    floors_us.push_back(1e6 * cpu_seconds_of([&] { total = sum(factor); }));
  }
  const std::string suffix = "/n=" + std::to_string(size.n);
  return {median_figure("append" + suffix, "us", appends_us),
          median_figure("read_floor" + suffix, "us", floors_us),
          median_figure("refactor" + suffix, "us", refactors_us)};
}

Figure pool_figure() {
  constexpr std::size_t kObservations = 2000, kCandidates = 1000, kTimes = 101;
  const Observations observations(kObservations, 2), candidates(kCandidates, 3);
  Cholesky factor;
  factor.factorise(observations.covariance(), kObservations);
  CandidatePool pool(kCandidates);
  {
    std::vector<double> kernels;
    for (std::size_t i = 0; i < kObservations; ++i)
      for (const double k : candidates.row(observations.points[i])) kernels.push_back(k);
    const std::vector<double> ones(kObservations, 1.0);
    pool.assign(factor, kernels, ones, ones);
  }
  const Point next = Observations(1, 1).points[0];
  factor.append(observations.row(next), observations.diagonal());
  std::vector<double> appends_ms;
  for (std::size_t i = 0; i < kTimes; ++i) {
    appends_ms.push_back(1e3 * cpu_seconds_of([&] {
                           pool.append(factor.row(kObservations), candidates.row(next), 1.0, 1.0);
                         }));
    pool.truncate(kObservations);
  }
  return median_figure(std::string(kPool), "ms", appends_ms);
}

}  // namespace

void bench_surrogate(Figures& figures) {
  for (const FactorSize& size : kFactorSizes) {
    const std::string suffix = "/n=" + std::to_string(size.n);
    const auto wants = [&](const char* name) { return figures.wants(name + suffix); };
    if (!wants("append") && !wants("read_floor") && !wants("refactor")) continue;
    for (Figure& figure : factor_figures(size)) figures.add(std::move(figure));
  }
  if (figures.wants(kPool)) figures.add(pool_figure());
  bench_proposals(figures);
}

}  // namespace detol::inline bench
