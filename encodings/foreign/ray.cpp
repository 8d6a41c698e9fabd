// Ray Tune's words as text, in JSON or YAML: {"lr": "tune.loguniform(1e-4, 1e-1)", "epochs": 10}.
// Maps inside of it give dotted names. The arguments of a word are read as a YAML list.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "core/table.h"
#include "encodings/foreign/distribution.h"
#include "encodings/foreign/formats.h"
#include "encodings/foreign/python_values.h"

namespace detol::inline encoding {
namespace {

constexpr std::array kRayWords = {
    Distribution{.name = "uniform"},
    Distribution{.name = "quniform", .rounds = true},
    Distribution{.name = "loguniform", .log = true},
    Distribution{.name = "qloguniform", .log = true, .rounds = true},
    Distribution{.name = "randn", .ends = Ends::kNormal},
    Distribution{.name = "qrandn", .ends = Ends::kNormal, .rounds = true},
    Distribution{.name = "randint", .whole = true, .excludes_high = true},
    Distribution{.name = "qrandint", .whole = true, .rounds = true},
    Distribution{.name = "lograndint", .log = true, .whole = true, .excludes_high = true},
    Distribution{.name = "qlograndint", .log = true, .whole = true, .rounds = true}};

constexpr std::array<std::string_view, 2> kLists = {"choice", "grid_search"};

// Call: a word with what stands in its brackets.
struct Call {
  std::string_view word, arguments;
  bool has_module = false;  // tune.uniform(...)
};

std::optional<Call> call_in(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kScalar) return std::nullopt;
  std::string_view text = node.scalar;
  bool has_module = false;
  for (const std::string_view module : {"ray.", "tune."}) {
    if (!text.starts_with(module)) continue;
    text.remove_prefix(module.size());
    has_module = true;
  }
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || open == 0 || !text.ends_with(')')) return std::nullopt;
  const std::string_view word = text.substr(0, open);
  const bool is_word = std::ranges::all_of(
      word, [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; });
  if (!is_word) return std::nullopt;
  return Call{word, text.substr(open + 1, text.size() - open - 2), has_module};
}

bool is_list_word(std::string_view word) {
  return std::ranges::find(kLists, word) != kLists.end();
}

// Returns the call of a scalar that is one of Ray Tune; other texts are constants.
std::optional<Call> ray_call_in(const YamlNode& node) {
  const auto call = call_in(node);
  const std::span<const Distribution> words = kRayWords;
  const bool is_known =
      call && (call->has_module || is_list_word(call->word) || find_row(words, call->word));
  return is_known ? call : std::nullopt;
}

// Returns the arguments of a parameter by their names: `positions` are those of the ones without
// any.
Result<std::map<std::string, double, std::less<>>> numbers_by_name(
    const std::string& parameter, const YamlNode& list,
    std::span<const std::string_view> positions) {
  std::map<std::string, double, std::less<>> numbers;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    YamlNode item = list.items[i];
    std::string name(i < positions.size() ? positions[i] : "base");
    if (const auto equals = item.scalar.find('='); equals != std::string::npos) {
      name = item.scalar.substr(0, item.scalar.find_last_not_of(' ', equals - 1) + 1);
      item.scalar.erase(0, item.scalar.find_first_not_of(' ', equals + 1));
    }
    const auto number = number_of(item);
    if (!number)
      return fail(ErrorCode::kInput,
                  fmt::format("{}: its argument {} is no number", parameter, i + 1));
    if (!numbers.emplace(name, *number).second)
      return fail(ErrorCode::kInput, fmt::format("{}: its argument {} is given twice, or there "
                                                 "are more than it has",
                                                 parameter, in_quotes(name)));
  }
  return numbers;
}

Result<ForeignParameter> ray_distribution(const Distribution& row, const std::string& name,
                                          const YamlNode& list) {
  const bool is_normal = row.ends == Ends::kNormal;
  const std::array<std::string_view, 3> positions = {
      is_normal ? "mean" : "lower", is_normal ? "sd" : "upper", row.rounds ? "q" : "base"};
  DETOL_ASSIGN(auto numbers, numbers_by_name(name, list, positions));
  numbers.erase("base");  // of the logarithm: it changes nothing
  if (row.name == "randn") numbers.insert({{"mean", 0.0}, {"sd", 1.0}});
  if (row.name == "qrandint") numbers.insert({"q", 1.0});
  DistributionNumbers given;
  const std::array<double*, 3> places = {&given.first, &given.second, &given.step};
  for (std::size_t i = 0; i < (row.rounds ? 3 : 2); ++i) {
    const auto found = numbers.extract(std::string(positions[i]));
    if (found.empty())
      return fail(ErrorCode::kInput,
                  fmt::format("{}: {} lacks its {}", name, row.name, positions[i]));
    *places[i] = found.mapped();
  }
  if (!numbers.empty())
    return fail(ErrorCode::kInput, fmt::format("{}: {} has no argument {}", name, row.name,
                                               in_quotes(numbers.begin()->first)));
  return parameter_of(row, name, given);
}

Result<ForeignParameter> ray_parameter(const std::string& name, const Call& call) {
  const auto mistake = [&name](const std::string& what) {
    return fail(ErrorCode::kInput, name + ": " + what);
  };
  auto list = parse_yaml(fmt::format("[{}]", call.arguments), YamlSource{});
  if (list) read_as_python(*list);
  if (!list || list->kind != YamlNode::Kind::kList)
    return mistake(fmt::format("the arguments of {} cannot be read: {}", call.word,
                               in_quotes(call.arguments)));
  if (is_list_word(call.word)) {
    if (list->items.size() != 1 || list->items[0].kind != YamlNode::Kind::kList)
      return mistake(fmt::format("{} needs a list, as in {}([1, 2])", call.word, call.word));
    Result<ForeignParameter> choice = choice_of(name, list->items[0].items);
    if (choice && call.word == "grid_search")
      choice->remarks.emplace_back("a grid has no equal; the values are chosen like any others");
    return choice;
  }
  const std::span<const Distribution> words = kRayWords;
  if (const Distribution* row = find_row(words, call.word))
    return ray_distribution(*row, name, *list);
  std::vector<std::string_view> known = names_of(words);
  known.insert(known.end(), kLists.begin(), kLists.end());
  return mistake(unknown_name("word", call.word, known));
}

// Returns the parameter of one value. A text that looks like a call may be a misspelt word.
Result<ForeignParameter> ray_constant(const std::string& name, const YamlNode& value) {
  const auto call = call_in(value);
  if (call) {
    const std::span<const Distribution> words = kRayWords;
    std::vector<std::string_view> known = names_of(words);
    known.insert(known.end(), kLists.begin(), kLists.end());
    if (did_you_mean(call->word, known))
      return fail(ErrorCode::kInput, name + ": " + unknown_name("word", call->word, known));
  }
  Result<ForeignParameter> parameter = choice_of(name, std::span(&value, 1));
  if (parameter && call)
    parameter->remarks.push_back(
        fmt::format("{} is no word of Ray Tune: it is given as a text", in_quotes(value.scalar)));
  return parameter;
}

Result<void> read_entries(const YamlNode& map, const std::string& prefix, const YamlSource& source,
                          ForeignSpace& space) {
  for (const YamlEntry& entry : map.entries) {
    const std::string name = prefix + entry.key;
    if (entry.value.kind == YamlNode::Kind::kMap) {
      DETOL_TRY(read_entries(entry.value, name + ".", source, space));
      continue;
    }
    const auto call = ray_call_in(entry.value);
    Result<ForeignParameter> parameter =
        call ? ray_parameter(name, *call) : ray_constant(name, entry.value);
    if (!parameter) return source.error(entry.at, parameter.error().message);
    space.parameters.push_back(std::move(*parameter));
  }
  return {};
}

}  // namespace

bool is_ray_space(const YamlNode& tree) {
  return std::ranges::any_of(tree.entries, [](const YamlEntry& entry) {
    return ray_call_in(entry.value).has_value() || is_ray_space(entry.value);
  });
}

Result<ForeignSpace> read_ray_space(const YamlNode& tree, const YamlSource& source) {
  ForeignSpace space{.format = "a space of Ray Tune"};
  DETOL_TRY(read_entries(tree, "", source, space));
  return space;
}

}  // namespace detol::inline encoding
