#pragma once

// Features: maps the choices of a space to the columns of a Point. Immutable.
//
//   float, int, ordered categorical   one number: the position in the unit cube, logarithmic where
//                                     the domain is, the middle of its slice where it is discrete
//                                     (equal values are equal points)
//   bool, other categorical           one category
//
// A number that exists under a condition only is laid on an arc, so that an inactive one is equally
// far from every active one and no value is made up for it (after Hutter and Osborne, 2013, "A
// Kernel for Hierarchical Parameter Spaces", arXiv 1310.5738):
//
//   active at u: (sin u, cos u, 1)      inactive: (0, 0, 0)
//
// The first two columns share one length scale, the third has its own: a learned distance. An
// inactive category is -1. A choice that the candidate's network makes no use of
// (Space::expressed) is inactive. The fidelity may be the last number, so that outcomes of all
// fidelities inform predictions at the highest (Klein et al., 2017, "Fast Bayesian Optimization of
// Machine Learning Hyperparameters on Large Datasets", AISTATS, arXiv 1605.07079).

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "encodings/space/genome.h"
#include "encodings/space/space.h"
#include "surrogate/points.h"

namespace detol::inline surrogate {

class Features {
 public:
  // `fidelity` (epochs) adds a column for the fidelity, with this value unless of() gets another.
  explicit Features(const Space& space, std::optional<double> fidelity = std::nullopt);

  std::size_t number_columns() const { return length_of_.size(); }
  std::size_t category_columns() const { return categories_.size(); }
  bool has_numbers() const { return !numbers_.empty(); }  // beside the fidelity
  bool has_graph() const { return has_graph_; }

  // length_of() has the index of the length scale of each column of numbers; lengths() is the
  // number of length scales.
  std::span<const std::size_t> length_of() const { return length_of_; }
  std::size_t lengths() const { return lengths_; }

  // sheared() has the columns of the numbers that exist always, between which a metric may have
  // shears; none where there are fewer than two, or so many that shears() factors are too many.
  std::span<const std::size_t> sheared() const { return sheared_; }
  std::size_t shears() const;  // one for each pair

  Point of(const Genome& genome) const { return of(genome, fidelity_.value_or(0)); }
  Point of(const Genome& genome, double fidelity) const;
  Points empty_points() const { return {number_columns(), category_columns()}; }

  // Returns a point of these features or of the same with a fidelity, without the fidelity and with
  // the same values for all choices of domains that are not `kept`. The graph stays.
  Point restricted(const Point& point, const std::vector<bool>& kept) const;

  // Returns the length scale of each domain's position; 0 where it has none.
  std::vector<double> by_domain(std::span<const double> lengths) const;

  // Converts a gradient by the columns of numbers at this genome to one by the position of each
  // domain in the unit cube (0 where it has none).
  std::vector<double> by_position(const Genome& genome, std::span<const double> by_column) const;

 private:
  struct Number {
    std::size_t domain, column;
    bool is_conditional;
  };

  Space space_;
  std::vector<Number> numbers_;
  std::vector<std::size_t> categories_;  // the domain of each column
  std::vector<std::size_t> length_of_;
  std::vector<std::size_t> sheared_;
  std::size_t lengths_ = 0;
  bool has_graph_ = false;
  std::optional<double> fidelity_;
};

}  // namespace detol::inline surrogate
