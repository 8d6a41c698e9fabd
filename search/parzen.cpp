#include "search/parzen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace detol::inline search {
namespace {

constexpr double kFineGrid = 32;         // a grid of more values is treated as a range
constexpr double kFixedDeviation = 0.2;  // as in Optuna's multivariate TPE
constexpr double kScottFactor = 1.06;    // (4 / 3)^(1 / 5)
constexpr double kLeastShare = 0.5;      // least deviation in a grid's mean slices
constexpr double kUniformVariance = 1.0 / 12;

bool is_missing(double coordinate) {
  return coordinate != coordinate;
}

double normal_below(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

// Returns the share of a normal of this center and deviation between a and b; exact in both tails.
double normal_between(double a, double b, double center, double deviation) {
  const double low = (a - center) / deviation, high = (b - center) / deviation;
  return low > 0 ? normal_below(-low) - normal_below(-high)
                 : normal_below(high) - normal_below(low);
}

std::vector<double> edges_of(const Domain& domain) {
  const double values = domain.cardinality();
  const bool is_log = domain.log && domain.step > 0;
  std::vector<double> edges{0};
  for (double i = 1; i < values; ++i) {
    edges.push_back(is_log ? domain.position_of(domain.low + (i - 0.5) * domain.step) : i / values);
  }
  edges.push_back(1);
  return edges;
}

Axes::Axis axis_of(const Domain& domain) {
  if (domain.is_numeric() && domain.cardinality() > kFineGrid) return {.kind = Axes::Kind::kRange};
  const auto values = static_cast<std::size_t>(domain.cardinality());
  if (!domain.is_ordered()) return {.kind = Axes::Kind::kWords, .values = values};
  return {.kind = Axes::Kind::kGrid, .values = values, .edges = edges_of(domain)};
}

double center_of(const Axes::Axis& axis, double coordinate) {
  if (axis.kind == Axes::Kind::kRange) return coordinate;
  const auto number = static_cast<std::size_t>(coordinate);
  return (axis.edges[number] + axis.edges[number + 1]) / 2;
}

double log_sum_exp(std::span<const double> terms) {
  const double most = std::ranges::max(terms);
  double sum = 0;
  for (double term : terms) sum += std::exp(term - most);
  return most + std::log(sum);
}

}  // namespace

Axes::Axes(Space space) : space_(std::move(space)) {
  for (const Domain& domain : space_.domains()) axes_.push_back(axis_of(domain));
}

std::vector<double> Axes::coordinates_of(const Genome& genome) const {
  const std::vector<bool> counts = space_.expressed(genome);
  std::vector<double> coordinates(size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < size(); ++i) {
    if (!counts[i]) continue;
    const double code = genome.codes()[i];
    const double position = space_.domains()[i].position_of(code);
    const std::vector<double>& edges = axes_[i].edges;
    coordinates[i] = axes_[i].kind == Kind::kRange ? position : code;
    if (axes_[i].kind == Kind::kGrid)
      coordinates[i] =
          static_cast<double>(std::ranges::upper_bound(edges, position) - edges.begin() - 1);
  }
  return coordinates;
}

Parzen::Parzen(const Axes& axes, std::vector<Observation> observations, Bandwidth bandwidth)
    : axes_(axes), observations_(std::move(observations)), columns_(axes.size()) {
  weigh();
  const double choices = mean_choices();
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const bool is_range = axes_[i].kind == Axes::Kind::kRange;
    if (!is_range) fill_numbers(i);
    if (axes_[i].kind != Axes::Kind::kWords)
      columns_[i].bandwidth = deviation_of(i, choices, bandwidth);
    if (is_range) fill_range(i);
  }
}

void Parzen::weigh() {
  double sum = 0;
  for (const Observation& observation : observations_)
    cumulated_.push_back(sum += observation.weight);
  const double count = static_cast<double>(observations_.size());
  const double uniform = observations_.empty() ? 1 : sum / count;
  cumulated_.push_back(sum + uniform);
  for (const Observation& observation : observations_)
    log_weights_.push_back(std::log(observation.weight / cumulated_.back()));
  log_weights_.push_back(std::log(uniform / cumulated_.back()));
}

double Parzen::mean_choices() const {
  if (observations_.empty()) return 0;
  std::ptrdiff_t count = 0;
  for (const Observation& observation : observations_) {
    count +=
        std::ranges::count_if(observation.coordinates, [](double x) { return !is_missing(x); });
  }
  return static_cast<double>(count) / static_cast<double>(observations_.size());
}

double Parzen::deviation_of(std::size_t axis, double choices, Bandwidth bandwidth) const {
  std::vector<double> centers;
  for (const Observation& observation : observations_) {
    const double coordinate = observation.coordinates[axis];
    if (!is_missing(coordinate)) centers.push_back(center_of(axes_[axis], coordinate));
  }
  const double count = std::max(static_cast<double>(centers.size()), 1.0);
  const double mean = std::accumulate(centers.begin(), centers.end(), 0.0) / count;
  double squares = kUniformVariance;
  for (double center : centers) squares += (center - mean) * (center - mean);
  const double scott = kScottFactor * std::sqrt(squares / (count + 1));
  const double deviation = (bandwidth == Bandwidth::kScott ? scott : kFixedDeviation) *
                           std::pow(count, -1 / (choices + 4));
  if (axes_[axis].kind == Axes::Kind::kRange) return deviation;
  return std::max(deviation, kLeastShare / static_cast<double>(axes_[axis].values));
}

void Parzen::fill_numbers(std::size_t axis) {
  Column& column = columns_[axis];
  const std::size_t values = axes_[axis].values;
  double count = 0;
  for (const Observation& observation : observations_) {
    const double coordinate = observation.coordinates[axis];
    count += is_missing(coordinate) ? 0 : 1;
    column.number.push_back(is_missing(coordinate) ? values : static_cast<std::size_t>(coordinate));
  }
  const double words = static_cast<double>(values);
  column.bandwidth = words / (std::max(count, 1.0) + words);
}

void Parzen::fill_range(std::size_t axis) {
  Column& column = columns_[axis];
  const double width = column.bandwidth;
  const double whole = std::sqrt(2 * std::numbers::pi) * width;
  for (const Observation& observation : observations_) {
    const double x = observation.coordinates[axis];
    const bool counts = !is_missing(x);
    column.center.push_back(counts ? x : 0);
    column.precision.push_back(counts ? 1 / (2 * width * width) : 0);
    column.height.push_back(counts ? -std::log(whole * normal_between(0, 1, x, width)) : 0);
  }
}

Genome Parzen::draw(Rng& rng) const {
  const double at = rng.uniform(0, cumulated_.back());
  const auto which =
      static_cast<std::size_t>(std::ranges::upper_bound(cumulated_, at) - cumulated_.begin());
  if (which >= observations_.size()) return axes_.space().sample(rng);
  std::vector<double> codes;
  for (std::size_t i = 0; i < axes_.size(); ++i)
    codes.push_back(code_near(observations_[which], i, rng));
  return axes_.space().repair(std::move(codes), rng);
}

double Parzen::code_near(const Observation& observation, std::size_t axis, Rng& rng) const {
  const Domain& domain = axes_.space().domains()[axis];
  const double coordinate = observation.coordinates[axis], width = columns_[axis].bandwidth;
  if (is_missing(coordinate)) return domain.code_at(rng.uniform());
  if (axes_[axis].kind == Axes::Kind::kWords)
    return rng.chance(width) ? domain.code_at(rng.uniform()) : coordinate;
  const double center = center_of(axes_[axis], coordinate);
  double position = -1;
  while (!(position >= 0 && position < 1)) position = center + width * rng.normal();
  return domain.code_at(position);
}

double Parzen::log_density(std::span<const double> coordinates) const {
  std::vector<double> sums = log_weights_;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (!is_missing(coordinates[i]))
      add_kernels(i, coordinates[i], std::span(sums).first(observations_.size()));
  }
  return log_sum_exp(sums);
}

void Parzen::add_kernels(std::size_t axis, double coordinate, std::span<double> sums) const {
  const Column& column = columns_[axis];
  if (axes_[axis].kind == Axes::Kind::kRange) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double away = coordinate - column.center[i];
      sums[i] += column.height[i] - away * away * column.precision[i];
    }
    return;
  }
  const std::vector<double> kernels = kernels_at(axis, static_cast<std::size_t>(coordinate));
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += kernels[column.number[i]];
}

// Returns the logarithms, at value `number`, of the kernels around each value; then 0, for
// observations without a value.
std::vector<double> Parzen::kernels_at(std::size_t axis, std::size_t number) const {
  const auto& [kind, values, edges] = axes_[axis];
  const double width = columns_[axis].bandwidth, words = static_cast<double>(values);
  std::vector<double> kernels(values + 1, std::log(width));
  kernels[number] = std::log(words * (1 - width) + width);
  for (std::size_t i = 0; kind == Axes::Kind::kGrid && i < values; ++i) {
    const double center = (edges[i] + edges[i + 1]) / 2;
    const double share = normal_between(edges[number], edges[number + 1], center, width) /
                         normal_between(0, 1, center, width);
    kernels[i] = std::log(share / (edges[number + 1] - edges[number]));
  }
  kernels[values] = 0;
  return kernels;
}

}  // namespace detol::inline search
