#include "encodings/lives.h"

#include <algorithm>
#include <numeric>

namespace detol {

Lives::Tensor Lives::make(double floats) {
  lives_.push_back({.floats = floats, .over = lives_.size()});
  return lives_.size() - 1;
}

Lives::Tensor Lives::make_over(Tensor old) {
  lives_.push_back({.floats = lives_[old].floats, .over = old});
  return lives_.size() - 1;
}

void Lives::use(std::span<const Tensor> tensors) {
  for (Tensor tensor : tensors) {
    Life& life = lives_[tensor];
    if (!life.is_used) life.born = step_;
    life.is_used = true;
    life.dies = step_;
  }
}

// A tensor that overwrites another lengthens that one's life and has none of its own.
std::vector<Lives::Life> Lives::merged() const {
  std::vector<Life> lives = lives_;
  std::vector<Tensor> by_birth(lives.size());
  std::iota(by_birth.begin(), by_birth.end(), Tensor{0});
  std::ranges::stable_sort(by_birth, {}, [&](Tensor tensor) { return lives[tensor].born; });
  for (Tensor tensor : by_birth) {
    Tensor first = lives[tensor].over;
    while (lives[first].over != first) first = lives[first].over;
    if (first == tensor || lives[first].dies != lives[tensor].born) {
      lives[tensor].over = tensor;
      continue;
    }
    lives[tensor].over = first;
    lives[first].dies = lives[tensor].dies;
    lives[tensor].is_used = false;
  }
  return lives;
}

double Lives::peak() const {
  std::vector<double> change(step_ + 2);
  for (const Life& life : merged()) {
    if (!life.is_used) continue;
    change[life.born] += life.floats;
    change[life.dies + 1] -= life.floats;
  }
  double now = 0, most = 0;
  for (double by : change) most = std::max(most, now += by);
  return most;
}

}  // namespace detol
