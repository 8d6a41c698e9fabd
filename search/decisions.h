#pragma once

// Decisions: a genome as a sequence of words, one for each active choice, parents before their
// children: what searchers that decide one choice after the other learn from and speak.
//
//   opt: sgd, momentum: 0.93, depth: 2   is   (opt, 0) (momentum, 10) (depth, 1)
//
// A category is a word; the range of a number is cut into equal bins (of its logarithm where
// `log`), at most `bins` of them. Immutable; safe to share between threads.

#include <functional>
#include <vector>

#include "core/rng.h"
#include "encodings/space/space.h"

namespace detol {

struct Decision {
  std::size_t choice;  // position in Space::domains()
  std::size_t word;
  bool counts;  // expressed: the outcome depends on it
};

class Decisions {
 public:
  Decisions(Space space, std::size_t bins);

  // How many words each choice has, and whether neighbouring words are alike.
  const std::vector<std::size_t>& words() const { return words_; }
  const std::vector<bool>& ordered() const { return ordered_; }

  std::vector<Decision> read(const Genome& genome) const;

  // The genome of the words that `choose(choice)` gives, asked for in the order of read(). A
  // number is drawn uniformly from its bin; the rules of the space have the last word.
  Genome speak(const std::function<std::size_t(std::size_t)>& choose, Rng& rng) const;

 private:
  Space space_;
  std::vector<std::size_t> words_;
  std::vector<bool> ordered_;
  std::vector<std::size_t> order_;  // every parent before its children
};

}  // namespace detol
