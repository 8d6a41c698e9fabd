#include "trainer/reports/algorithm_choices.h"

#include <sstream>

namespace detol::inline trainer {

std::string to_text(const AlgorithmChoices& choices) {
  std::string text;
  for (const auto& [key, algorithm] : choices.algorithms) text += key + '\t' + algorithm + '\n';
  return text;
}

AlgorithmChoices choices_from(std::string_view text) {
  AlgorithmChoices choices;
  std::istringstream in{std::string(text)};
  std::string key, algorithm;
  while (std::getline(in, key, '\t') && std::getline(in, algorithm))
    choices.algorithms.emplace(key, algorithm);
  return choices;
}

}  // namespace detol::inline trainer
