#include "encodings/foreign/tuned_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "core/table.h"

namespace detol::inline encoding {
namespace {

// Quotes a text for YAML.
std::string yaml_text(std::string_view text) {
  std::string all = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      all += fmt::format("\\{}", c);
    else if (byte < 0x20 || byte == 0x7f)
      all += fmt::format("\\x{:02x}", byte);
    else
      all += c;
  }
  return all + "\"";
}

bool is_plain_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// Returns a value as YAML: numbers and bools as they are, others as texts.
std::string value_of(const std::string& word) {
  return is_plain_number(word) || word == "true" || word == "false" ? word : yaml_text(word);
}

// Domain: a kind of parameter and how it is written.
struct Domain {
  std::string_view word;
  std::string_view type;
  std::string_view more;  // keys beside the range
  bool is_list = false;   // of choices, instead of a range
};
constexpr std::array kDomains = {Domain{"float", "float", ""},
                                 Domain{"log", "float", ", log: true"},
                                 Domain{"int", "int", ""},
                                 Domain{"logint", "int", ", log: true"},
                                 Domain{"choice", "categorical", "", true},
                                 Domain{"ordered", "categorical", ", ordered: true", true}};

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    words.emplace_back(word);
    begin = end + 1;
  }
  return words;
}

tl::unexpected<Error> no_parameter(const std::string& text) {
  return fail(ErrorCode::kUsage,
              fmt::format("param is {}; it must be as in lr=log(1e-5,1e-1), x=float(0,1), "
                          "n=int(1,8), n=logint(1,1024), opt=choice(sgd,adam), "
                          "size=ordered(16,32), flag=bool or epochs=3",
                          in_quotes(text)));
}

Result<std::string> domain_of(const std::string& parameter, std::string_view text) {
  if (text == "bool") return std::string("{type: bool}");
  const std::size_t open = text.find('(');
  const auto domain = std::ranges::find(kDomains, text.substr(0, open), &Domain::word);
  if (open == std::string_view::npos) return value_of(std::string(text));
  if (domain == kDomains.end() || !text.ends_with(')')) return no_parameter(parameter);
  std::vector<std::string> words = split(text.substr(open + 1, text.size() - open - 2));
  const bool has_blank = std::ranges::find(words, "") != words.end();
  if (has_blank) return no_parameter(parameter);
  if (domain->is_list) {
    for (std::string& word : words) word = value_of(word);
    return fmt::format("{{type: {}, choices: [{}]{}}}", domain->type, fmt::join(words, ", "),
                       domain->more);
  }
  if (words.size() < 2 || words.size() > 3 || !std::ranges::all_of(words, is_plain_number))
    return no_parameter(parameter);
  const std::string step = words.size() == 3 ? ", step: " + words[2] : "";
  return fmt::format("{{type: {}, low: {}, high: {}{}{}}}", domain->type, words[0], words[1], step,
                     domain->more);
}

Result<std::string> objective_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::string direction = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (colon != 0 && (direction == "minimize" || direction == "maximize"))
    return fmt::format("  - {{metric: {}, direction: {}}}\n", yaml_text(text.substr(0, colon)),
                       direction);
  return fail(ErrorCode::kUsage,
              fmt::format("metric is {}; it must be a name and its direction, as in "
                          "val_loss:minimize or accuracy:maximize",
                          in_quotes(text)));
}

}  // namespace

Result<std::string> space_of(const TunedSpace& space) {
  std::string arguments, parameters, objectives;
  for (const std::string& word : space.command)
    arguments += fmt::format("    - {}\n", yaml_text(word));
  for (const std::string& one : space.parameters) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0) return no_parameter(one);
    DETOL_ASSIGN(const std::string domain,
                 domain_of(one, std::string_view(one).substr(equals + 1)));
    parameters += fmt::format("  {}: {}\n", yaml_text(one.substr(0, equals)), domain);
  }
  for (const std::string& one : space.metrics) {
    DETOL_ASSIGN(const std::string objective, objective_of(one));
    objectives += objective;
  }
  const std::string steps = space.steps.empty() ? "" : fmt::format("  steps: {}\n", space.steps);
  const std::string scorer = !space.command.empty() ? "command:\n  run:\n" + arguments + steps
                             : steps.empty()        ? "external: {}\n"
                                                    : "external:\n" + steps;
  return fmt::format("version: 1\nstudy: {}\n{}parameters:\n{}objectives:\n{}",
                     yaml_text(space.study), scorer, parameters, objectives);
}

}  // namespace detol::inline encoding
