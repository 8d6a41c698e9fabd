#pragma once

// Points: candidates as inputs of kernels. A Point has numbers in the unit cube, categories and
// maybe a graph; Points are many of them, stored by column, so that a kernel row is a few passes
// over contiguous memory. Not thread-safe while it grows.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "surrogate/graph_features.h"
#include "surrogate/graph_index.h"

namespace detol::inline surrogate {

struct Point {
  std::vector<double> numbers;                 // one per column of numbers
  std::vector<int> categories;                 // one per column of categories; -1: inactive
  std::shared_ptr<const GraphFeatures> graph;  // null where the space describes no network

  friend bool operator==(const Point& a, const Point& b) = default;  // of one and the same graph
};

class Points {
 public:
  Points(std::size_t number_columns, std::size_t category_columns)
      : numbers_(number_columns), categories_(category_columns) {}

  std::size_t size() const { return size_; }
  void push_back(const Point& point);
  void truncate(std::size_t size);  // drops the last
  Point operator[](std::size_t i) const;

  std::size_t number_columns() const { return numbers_.size(); }
  std::size_t category_columns() const { return categories_.size(); }
  std::span<const double> numbers(std::size_t column) const { return numbers_[column]; }
  std::span<const int> categories(std::size_t column) const { return categories_[column]; }
  std::span<const std::shared_ptr<const GraphFeatures>> graphs() const { return graphs_; }

  // Builds an index of the graphs, which makes kernel rows against these points faster and costs a
  // push_back() about a microsecond. Changes nothing where there are no graphs.
  void index_graphs();
  const GraphIndex* graph_index() const { return index_ ? &*index_ : nullptr; }

 private:
  std::size_t size_ = 0;
  std::vector<std::vector<double>> numbers_;
  std::vector<std::vector<int>> categories_;
  std::vector<std::shared_ptr<const GraphFeatures>> graphs_;
  std::optional<GraphIndex> index_;
};

}  // namespace detol::inline surrogate
