#pragma once

// AlgorithmChoices holds the algorithm by which a backend computes each shape of a study whose
// training.deterministic is false. A shape is timed once in a study; the first recorded choice
// holds for every trial, worker and resume of it.
//
// A key names everything the choice depends on: backend, instruction set, layer, images per run.
// Keys and algorithms contain neither tabs nor line ends.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace detol::inline trainer {

struct AlgorithmChoices {
  std::map<std::string, std::string> algorithms;  // by key

  const std::string* find(const std::string& key) const {
    const auto found = algorithms.find(key);
    return found == algorithms.end() ? nullptr : &found->second;
  }
};

// AlgorithmCandidates lists the algorithms that can compute a shape; the fixed rule takes the
// first.
struct AlgorithmCandidates {
  std::string key;
  std::vector<std::string> algorithms;
};

// TimedShape is the best algorithm of a shape, and the seconds of each candidate, which are only
// shown to people.
struct TimedShape {
  std::string key;
  std::string algorithm;
  std::vector<std::pair<std::string, double>> seconds = {};
};

// AlgorithmRecord records the choices of a study durably. Used by one thread.
class AlgorithmRecord {
 public:
  virtual ~AlgorithmRecord() = default;

  // Returns the study's choices that are known here, perhaps not all of them.
  virtual AlgorithmChoices known() = 0;

  // Waits until the study has a durable choice for each of these keys, the timed one or an earlier
  // one, and returns the choices known then; nothing if the run is over.
  virtual std::optional<AlgorithmChoices> settle(const std::vector<TimedShape>& timed) = 0;
};

// Returns a line per choice, to send to the other ranks of a group.
std::string to_text(const AlgorithmChoices& choices);
AlgorithmChoices choices_from(std::string_view text);  // REQUIRES: text is from to_text

}  // namespace detol::inline trainer
