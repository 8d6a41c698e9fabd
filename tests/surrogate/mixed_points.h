#pragma once

// Spaces of numbers, categories, conditional choices and graphs, and points of them, for tests.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/rng.h"
#include "encodings/space/space.h"
#include "surrogate/features.h"
#include "surrogate/kernel.h"

namespace detol {

inline Space mixed_space() {
  return SpaceBuilder()
      .add_float("lr", 1e-4, 1, {.log = true})
      .add_int("layers", 1, 6)
      .add_categorical("optimizer", {"sgd", "adam", "lamb"})
      .add_bool("nesterov", {.when = {"optimizer", {"sgd"}}})
      .add_float("momentum", 0, 1, {.when = {"optimizer", {"sgd"}}})
      .build()
      .value();
}

// Four operations in a row, with an edge from the first to the last where the second is "conv"; and
// a learning rate and an optimizer.
inline Space space_with_graphs() {
  const std::vector<std::string> operations = {"conv", "pool", "skip"};
  SpaceBuilder builder;
  for (std::size_t i = 0; i < 4; ++i)
    builder.add_categorical("architecture.operation" + std::to_string(i), operations);
  builder.add_float("lr", 1e-4, 1, {.log = true}).add_categorical("optimizer", {"sgd", "adam"});
  return builder.build().value().with_graph([](std::span<const double> codes) {
    LabelledGraph graph;
    for (std::size_t i = 0; i < 4; ++i) {
      graph.labels.push_back(1 + static_cast<std::uint64_t>(codes[i]));
      if (i > 0) graph.edges.emplace_back(i - 1, i);
    }
    if (codes[1] == 0) graph.edges.emplace_back(0, 3);
    return graph;
  });
}

inline Space cube(std::size_t dimensions) {
  SpaceBuilder builder;
  for (std::size_t i = 0; i < dimensions; ++i) builder.add_float("x" + std::to_string(i), 0, 1);
  return builder.build().value();
}

inline Points random_points(const Space& space, const Features& features, std::size_t count,
                            Rng& rng) {
  Points points = features.empty_points();
  for (std::size_t i = 0; i < count; ++i) points.push_back(features.of(space.sample(rng)));
  return points;
}

inline std::vector<double> random_normals(std::size_t count, Rng& rng) {
  std::vector<double> values(count);
  for (double& value : values) value = rng.normal();
  return values;
}

inline KernelParameters random_parameters(const Features& features, Rng& rng) {
  KernelParameters parameters = default_parameters(features);
  for (double& length : parameters.lengths) length = std::exp(rng.uniform(-1.5, 1));
  for (double& penalty : parameters.penalties) penalty = std::exp(rng.uniform(-2, 1));
  for (double& shear : parameters.shears) shear = rng.uniform(-2, 2);
  for (double* variance : {&parameters.numbers, &parameters.graphs, &parameters.both})
    *variance *= std::exp(rng.uniform(-1, 1));
  parameters.noise = std::exp(rng.uniform(-6, -2));
  return parameters;
}

}  // namespace detol
