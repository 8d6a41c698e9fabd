#pragma once

// Choices: by which of several correct ways a backend computes each shape of a study, where
// training.deterministic is false. A shape is timed once in a study; what was recorded first holds
// for every trial, worker and resume of it.
//
// A key names all that decides: the backend, the instruction set, the layer, the images of a run.
// Keys and ways have neither tabs nor line ends.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace detol {

struct Choices {
  std::map<std::string, std::string> ways;  // by key

  const std::string* find(const std::string& key) const {
    const auto found = ways.find(key);
    return found == ways.end() ? nullptr : &found->second;
  }
};

// A shape that can be computed in several ways, the first of which is the fixed rule's.
struct OpenChoice {
  std::string key;
  std::vector<std::string> ways;
};

// What timing found for a shape: the way that is best, and the seconds of each, which are for
// people.
struct TimedChoice {
  std::string key;
  std::string way;
  std::vector<std::pair<std::string, double>> seconds = {};
};

// Where the choices of a study are written down. Used by one thread.
class ChoiceRecord {
 public:
  virtual ~ChoiceRecord() = default;

  // What is known here of the study's choices, perhaps not all of them.
  virtual Choices known() = 0;

  // Waits until the study has a durable choice for each of these keys, these or what was recorded
  // before, and returns what is known then; nothing if the run is over.
  virtual std::optional<Choices> settle(const std::vector<TimedChoice>& timed) = 0;
};

// A line per choice, for the other ranks of a group.
std::string to_text(const Choices& choices);
Choices choices_from(std::string_view text);  // REQUIRES: text is of to_text

}  // namespace detol
