#include "encodings/foreign/foreign_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "encodings/study/command.h"

namespace detol::inline encoding {
namespace {

// Returns whether YAML reads the text as itself without quotes.
bool is_plain(std::string_view text) {
  const auto is_of_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  const bool is_word =
      !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
      std::ranges::all_of(text, [&](unsigned char c) { return is_of_word(c) || c == '.'; });
  constexpr std::array<std::string_view, 5> kOther = {"true", "false", "null", "Null", "NULL"};
  return is_word && is_of_word(static_cast<unsigned char>(text[0])) &&
         std::ranges::find(kOther, text) == kOther.end();
}

std::string quoted(const std::string& text) {
  return is_plain(text) ? text : compact(nlohmann::json(text));
}

// Writes 1.0, which Python gives as that text, with its point.
std::string written(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  const auto* real = std::get_if<double>(&value);
  return real != nullptr ? compact(nlohmann::json(*real)) : to_text(value);
}

std::string written(const std::vector<Value>& values) {
  std::vector<std::string> texts;
  for (const Value& value : values) texts.push_back(written(value));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string written(const Domain& domain) {
  const std::string when = domain.when
                               ? fmt::format(", when: {{{}: {}}}", quoted(domain.when->parent),
                                             written(domain.when->values))
                               : "";
  if (domain.kind == DomainKind::kCategorical) {
    if (domain.choices.size() == 1 && !domain.when) return written(domain.choices.front());
    return fmt::format("{{type: categorical, choices: {}{}}}", written(domain.choices), when);
  }
  const bool is_int = domain.kind == DomainKind::kInt;
  const auto number = [is_int](double x) {
    return is_int ? to_text(static_cast<std::int64_t>(x)) : to_text(x);
  };
  const bool has_step = domain.step > (is_int ? 1 : 0);
  return fmt::format("{{type: {}, low: {}, high: {}{}{}{}}}", is_int ? "int" : "float",
                     number(domain.low), number(domain.high),
                     has_step ? ", step: " + number(domain.step) : "",
                     domain.log ? ", log: true" : "", when);
}

// Returns whether {name} stands for a parameter of that name.
bool is_placeholder(const std::string& name) {
  const std::vector<std::string> argument = {fmt::format("{{{}}}", name)};
  return filled_in(argument, {{name, "x"}}) == std::vector<std::string>{"x"};
}

std::string command_section(const ForeignSpace& space) {
  std::vector<std::string> words = space.run;
  std::string text = "command:\n";
  if (words.empty()) {
    text +=
        "  # Put your own program here; {lr} stands for a value, and all of them are in the\n"
        "  # environment as $DETOL_PARAMS.\n";
    words = {"python3", "train.py"};
    for (const ForeignParameter& one : space.parameters) {
      const std::string& name = one.domain.name;
      if (is_placeholder(name)) words.push_back(fmt::format("--{0}={{{0}}}", name));
    }
  }
  text += "  run:\n";
  for (const std::string& word : words) text += fmt::format("    - {}\n", quoted(word));
  if (space.steps > 0) text += fmt::format("  steps: {}\n", space.steps);
  return text;
}

std::string objectives_section(const ForeignSpace& space) {
  const bool is_said = !space.metric.empty();
  return fmt::format("objectives:\n{}  - {{metric: {}, direction: {}}}\n",
                     is_said ? "" : "  # Put the metric here that your program reports.\n",
                     is_said ? quoted(space.metric) : "val_loss",
                     space.maximizes ? "maximize" : "minimize");
}

std::string search_section(const ForeignSpace& space) {
  std::string text;
  if (!space.algorithm.empty()) text += fmt::format("  algorithm: {}\n", space.algorithm);
  if (!space.pruner.empty()) text += fmt::format("  pruner: {}\n", space.pruner);
  return text.empty() ? "" : "\nsearch:\n" + text;
}

std::string comments(const std::vector<std::string>& remarks, std::string_view indent) {
  std::string text;
  for (std::string remark : remarks) {
    std::ranges::replace_if(
        remark, [](unsigned char c) { return c < ' '; }, ' ');
    text += fmt::format("{}# {}\n", indent, remark);
  }
  return text;
}

}  // namespace

std::string write_space_file(const ForeignSpace& space, std::string_view study,
                             std::string_view source) {
  std::string text = fmt::format("# Made of {}, {}. docs/tuning.md says how a program reports.\n",
                                 quoted(std::string(source)), space.format);
  text += comments(space.remarks, "");
  text += fmt::format("version: 1\nstudy: {}\n\n{}\nparameters:\n", quoted(std::string(study)),
                      command_section(space));
  for (const ForeignParameter& one : space.parameters)
    text += fmt::format("{}  {}: {}\n", comments(one.remarks, "  "), quoted(one.domain.name),
                        written(one.domain));
  text += "\n" + objectives_section(space) + search_section(space);
  if (!space.budget.empty()) text += fmt::format("budget: {}\n", quoted(space.budget));
  return text;
}

}  // namespace detol::inline encoding
