#include "surrogate/fit_prior.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace detol::inline surrogate {
namespace {

constexpr std::size_t kManyDimensions = 20;
constexpr double kPooledVariance = 0.3;  // of log lengths about their mean
constexpr double kFreeCharge = 0.5;      // for each length or penalty that is not pooled, but one

// ParameterRange: beyond it a parameter makes no difference to outcomes in the unit cube.
struct ParameterRange {
  double low, high;
};
constexpr ParameterRange kLength{1e-2, 1e3};
constexpr ParameterRange kPenalty{1e-4, 20};
constexpr double kMostShear = 1e3;  // either way
constexpr ParameterRange kVariance{1e-4, 1e2};
constexpr ParameterRange kNoise{1e-10,
                                1};  // less is lost among the rounding errors of the variances

struct LogDensity {
  double logarithm, slope;  // log density, and its derivative by the parameter's logarithm
};

LogDensity length_prior(double length, std::size_t dimension) {
  if (dimension <= kManyDimensions) {
    const double square = length * length;
    return {-0.1 * (square + 1 / square), -0.2 * (square - 1 / square)};
  }
  const double mean = std::sqrt(2.0) + std::log(static_cast<double>(dimension)) / 2;
  const double deviation = std::log(length) - mean;
  return {-std::log(length) - deviation * deviation / 6, -1 - deviation / 3};
}

LogDensity penalty_prior(double penalty, std::size_t dimension) {
  const LogDensity density = length_prior(1 / std::sqrt(penalty), dimension);
  return {density.logarithm, -density.slope / 2};
}

LogDensity shear_prior(double shear, double charge) {
  const double square = shear * shear / 3;
  return {-2 * std::log1p(square) - charge, -4 * shear / 3 / (1 + square)};
}

// Returns the log density of values about their mean, times `scale`, and adds its gradient by the
// values to the front of `gradient`, unless that is empty.
double pooled_prior(std::span<const double> values, double scale, std::span<double> gradient) {
  double mean = 0, squares = 0;
  for (double value : values) mean += value / static_cast<double>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double deviation = scale * (values[i] - mean);
    squares += deviation * deviation;
    if (!gradient.empty()) gradient[i] -= scale * deviation / kPooledVariance;
  }
  return -squares / (2 * kPooledVariance);
}

std::vector<double> logarithms(std::vector<double> values) {
  for (double& value : values) value = std::log(value);
  return values;
}

double variances_prior(const KernelParameters& parameters, const ParameterList& list,
                       std::span<double> gradient) {
  const double total = parameters.numbers + parameters.graphs + parameters.both;
  double density = std::log(total) - total;
  const std::vector<double> terms =
      list.has_graph ? std::vector<double>{parameters.numbers, parameters.graphs, parameters.both}
                     : std::vector<double>{parameters.numbers};
  const double count = static_cast<double>(terms.size());
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const double share = terms[i] / total;
    density += std::log(share) / 2;
    if (!gradient.empty())
      gradient[list.variance() + i] += (1 - total) * share + (1 - count * share) / 2;
  }
  return density;
}

}  // namespace

ParameterList list_of(const Features& features) {
  return {.lengths = features.lengths(),
          .penalties = features.category_columns(),
          .shears = features.shears(),
          .has_graph = features.has_graph()};
}

std::vector<double> coordinates(const KernelParameters& parameters, const ParameterList& list) {
  std::vector<double> values = parameters.lengths;
  values.insert(values.end(), parameters.penalties.begin(), parameters.penalties.end());
  values.insert(values.end(), parameters.shears.begin(), parameters.shears.end());
  values.push_back(parameters.numbers);
  if (list.has_graph) values.insert(values.end(), {parameters.graphs, parameters.both});
  values.push_back(parameters.noise);
  assert(values.size() == list.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i < list.shear() || i >= list.variance()) values[i] = std::log(values[i]);
  }
  return values;
}

KernelParameters from_coordinates(std::span<const double> coordinates, int depth,
                                  const ParameterList& list) {
  const auto value = [&](std::size_t i) { return std::exp(coordinates[i]); };
  KernelParameters parameters;
  for (std::size_t i = 0; i < list.lengths; ++i) parameters.lengths.push_back(value(i));
  for (std::size_t i = list.lengths; i < list.shear(); ++i)
    parameters.penalties.push_back(value(i));
  const std::span<const double> shears = coordinates.subspan(list.shear(), list.shears);
  parameters.shears.assign(shears.begin(), shears.end());
  parameters.numbers = value(list.variance());
  parameters.graphs = list.has_graph ? value(list.variance() + 1) : 0;
  parameters.both = list.has_graph ? value(list.variance() + 2) : 0;
  parameters.noise = value(list.noise());
  parameters.depth = depth;
  return parameters;
}

Bounds bounds_of(const ParameterList& list, double least_noise) {
  Bounds bounds;
  const auto add = [&](std::size_t count, ParameterRange range) {
    bounds.low.insert(bounds.low.end(), count, std::log(range.low));
    bounds.high.insert(bounds.high.end(), count, std::log(range.high));
  };
  add(list.lengths, kLength);
  add(list.penalties, kPenalty);
  bounds.low.insert(bounds.low.end(), list.shears, -kMostShear);
  bounds.high.insert(bounds.high.end(), list.shears, kMostShear);
  add(list.has_graph ? 3 : 1, kVariance);
  const double floor = std::max(least_noise, kNoise.low);
  add(1, {floor, std::max(floor, kNoise.high)});
  return bounds;
}

double free_charge(const ParameterList& list) {
  const std::size_t free = list.shear() - std::min<std::size_t>(list.lengths, 1) -
                           std::min<std::size_t>(list.penalties, 1);
  return kFreeCharge * static_cast<double>(free);
}

double shear_charge(std::size_t observations) {
  return std::log(static_cast<double>(observations)) / 2;
}

double log_prior(const KernelParameters& parameters, const ParameterList& list,
                 std::size_t observations, Pooling pooling, std::span<double> gradient) {
  const std::size_t dimension = list.lengths + list.penalties;
  double sum = variances_prior(parameters, list, gradient);
  const auto add = [&](LogDensity density, std::size_t position) {
    sum += density.logarithm;
    if (!gradient.empty()) gradient[position] += density.slope;
  };
  for (std::size_t i = 0; i < list.lengths; ++i)
    add(length_prior(parameters.lengths[i], dimension), i);
  for (std::size_t i = 0; i < list.penalties; ++i)
    add(penalty_prior(parameters.penalties[i], dimension), list.lengths + i);
  if (has_shears(parameters)) {
    const double charge = shear_charge(observations);
    for (std::size_t i = 0; i < list.shears; ++i)
      add(shear_prior(parameters.shears[i], charge), list.shear() + i);
  } else if (pooling == Pooling::kNone) {
    sum -= free_charge(list);
  } else {
    sum += pooled_prior(logarithms(parameters.lengths), 1, gradient);
    const std::size_t penalty = gradient.empty() ? 0 : list.lengths;
    sum += pooled_prior(logarithms(parameters.penalties), -0.5, gradient.subspan(penalty));
  }
  add({.logarithm = 0.1 * std::log(parameters.noise) - 30 * parameters.noise,
       .slope = 0.1 - 30 * parameters.noise},
      list.noise());
  return sum;
}

}  // namespace detol::inline surrogate
