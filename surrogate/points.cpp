#include "surrogate/points.h"

#include <cassert>

namespace detol::inline surrogate {

void Points::push_back(const Point& point) {
  assert(point.numbers.size() == numbers_.size() && point.categories.size() == categories_.size());
  for (std::size_t i = 0; i < numbers_.size(); ++i) numbers_[i].push_back(point.numbers[i]);
  for (std::size_t i = 0; i < categories_.size(); ++i)
    categories_[i].push_back(point.categories[i]);
  graphs_.push_back(point.graph);
  if (index_ && point.graph) index_->push_back(*point.graph);
  ++size_;
}

void Points::truncate(std::size_t size) {
  assert(size <= size_);
  for (auto& column : numbers_) column.resize(size);
  for (auto& column : categories_) column.resize(size);
  while (index_ && index_->size() > size) index_->pop_back(*graphs_[index_->size() - 1]);
  graphs_.resize(size);
  size_ = size;
}

void Points::index_graphs() {
  if (index_) return;
  index_.emplace();
  for (const auto& graph : graphs_) {
    if (graph) index_->push_back(*graph);
  }
}

Point Points::operator[](std::size_t i) const {
  Point point;
  point.numbers.reserve(numbers_.size());
  point.categories.reserve(categories_.size());
  for (const auto& column : numbers_) point.numbers.push_back(column[i]);
  for (const auto& column : categories_) point.categories.push_back(column[i]);
  point.graph = graphs_[i];
  return point;
}

}  // namespace detol::inline surrogate
