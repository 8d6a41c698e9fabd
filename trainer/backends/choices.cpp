#include "trainer/backends/choices.h"

#include <sstream>

namespace detol {

std::string to_text(const Choices& choices) {
  std::string text;
  for (const auto& [key, way] : choices.ways) text += key + '\t' + way + '\n';
  return text;
}

Choices choices_from(std::string_view text) {
  Choices choices;
  std::istringstream in{std::string(text)};
  std::string key, way;
  while (std::getline(in, key, '\t') && std::getline(in, way)) choices.ways.emplace(key, way);
  return choices;
}

}  // namespace detol
