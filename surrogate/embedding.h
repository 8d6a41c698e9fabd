#pragma once

// Embedding: a small learned map of graphs to vectors, in which graphs that score alike are near
// each other. It is trained on graphs with scores of one or several tasks (studies, data sets) in
// two steps:
//
//   kernel PCA    a graph's coordinates are those of its Weisfeiler-Lehman features along their
//                 main directions among the landmarks (Schölkopf et al., 1998, Neural Computation
//                 10; for other graphs by Nyström's formula)
//   MLKR          a linear map of these, such that the kernel regression of a task's scores on its
//                 other graphs leaves the least squared error (Weinberger and Tesauro, 2007,
//                 "Metric Learning for Kernel Regression", AISTATS), with a ridge that holds the
//                 map to where it began
//
// The tasks share the map and compare scores only within a task, by rank. With few scores the map
// stays that of the kernel PCA: distances are then those of the Weisfeiler-Lehman kernel.
//
// A fit to 200 cells of NAS-Bench-201 takes 30 ms, a vector some microseconds.
// A pure function of its arguments; immutable, safe to share between threads.

#include <cstddef>
#include <span>
#include <vector>

#include "surrogate/graph_features.h"
#include "surrogate/graph_index.h"

namespace detol::inline surrogate {

// TaskScores stores the scores of one task. They are compared with each other only, and higher or
// lower may be better.
struct TaskScores {
  std::vector<std::size_t> graphs;  // positions in the list of graphs
  std::vector<double> scores;       // one for each, finite
};

class Embedding {
 public:
  static constexpr std::size_t kLandmarks = 400;    // at most so many graphs train the embedding
  static constexpr std::size_t kFewestScores = 20;  // with fewer the map is not learned

  // Trains on the graphs that have scores, or on all graphs where scores are few. Of more than
  // kLandmarks it takes every k-th.
  // REQUIRES: no graph is empty; there is one at least.
  static Embedding fitted(std::span<const GraphFeatures> graphs, std::span<const TaskScores> tasks);

  // Returns the graph's vector. Equal features give equal vectors.
  std::vector<double> of(const GraphFeatures& graph) const;

  std::size_t dimensions() const { return dimensions_; }
  bool is_learned() const { return is_learned_; }

 private:
  GraphIndex landmarks_;
  std::vector<double> map_;  // dimensions x landmarks, row-major: times the kernels, a vector
  std::size_t dimensions_ = 0;
  bool is_learned_ = false;
};

// Returns the Euclidean distance. REQUIRES: equal lengths.
double distance(std::span<const double> a, std::span<const double> b);

// Returns the kernel regression of the scores at a vector: their mean with the weights
// exp(-distance²), for which an Embedding is trained (Nadaraya, 1964; Watson, 1964).
// REQUIRES: as many vectors as scores, at least one, of the length of `at`.
double predict_by_neighbours(std::span<const std::vector<double>> vectors,
                             std::span<const double> scores, std::span<const double> at);

}  // namespace detol::inline surrogate
