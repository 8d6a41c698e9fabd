// NNI's search space: {"lr": {"_type": "loguniform", "_value": [0.0001, 0.1]}, ...}. A choice may
// have spaces of its own, {"_name": "conv", "kernel": {...}}, whose parameters exist only with it:
// they are called op.conv.kernel.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/table.h"
#include "encodings/foreign/distribution.h"
#include "encodings/foreign/formats.h"
#include "encodings/schema/yaml_value.h"

namespace detol::inline encoding {
namespace {

constexpr std::array kNniWords = {
    Distribution{.name = "randint", .ends = Ends::kValues, .whole = true, .excludes_high = true},
    Distribution{.name = "uniform"},
    Distribution{.name = "quniform", .rounds = true, .clips = true},
    Distribution{.name = "loguniform", .log = true},
    Distribution{.name = "qloguniform", .log = true, .rounds = true, .clips = true},
    Distribution{.name = "normal", .ends = Ends::kNormal},
    Distribution{.name = "qnormal", .ends = Ends::kNormal, .rounds = true},
    Distribution{.name = "lognormal", .ends = Ends::kNormal, .log = true},
    Distribution{.name = "qlognormal", .ends = Ends::kNormal, .log = true, .rounds = true}};

constexpr std::array<std::string_view, 2> kNniKeys = {"_type", "_value"};

class NniReader {
 public:
  explicit NniReader(const YamlSource& source) : source_(source) {}

  // Reads the parameters of a space; those of a choice's own space exist under the condition.
  Result<void> read(const YamlNode& space, const std::string& prefix,
                    const std::optional<When>& when) {
    for (const YamlEntry& entry : space.entries) {
      if (entry.key == "_name") continue;
      const YamlEntry* type = entry.value.find("_type");
      const YamlEntry* values = entry.value.find("_value");
      if (type == nullptr || values == nullptr || values->value.kind != YamlNode::Kind::kList)
        return source_.error(entry.at, entry.key + ": it needs _type and a list as _value");
      const std::string name = prefix + entry.key;
      if (const auto known = has_known_keys(entry.value, name, kNniKeys); !known)
        return source_.error(entry.at, known.error().message);
      Result<ForeignParameter> parameter = type->value.scalar == "choice"
                                               ? choice(name, values->value)
                                               : number(name, type->value.scalar, values->value);
      if (!parameter) return source_.error(entry.at, parameter.error().message);
      parameter->domain.when = when;
      found_.push_back(std::move(*parameter));
      DETOL_TRY(read_own_spaces(name, values->value));
    }
    return {};
  }

  std::vector<ForeignParameter> take() { return std::move(found_); }

 private:
  static Result<ForeignParameter> choice(const std::string& name, const YamlNode& values) {
    std::vector<YamlNode> names;
    for (const YamlNode& item : values.items) {
      const YamlEntry* own = item.find("_name");
      names.push_back(own == nullptr ? item : own->value);
    }
    return choice_of(name, names);
  }

  static Result<ForeignParameter> number(const std::string& name, std::string_view word,
                                         const YamlNode& values) {
    const std::span<const Distribution> words = kNniWords;
    const Distribution* row = find_row(words, word);
    if (row == nullptr) {
      std::vector<std::string_view> known = names_of(words);
      known.emplace_back("choice");
      return fail(ErrorCode::kInput, name + ": " + unknown_name("_type", word, known));
    }
    std::vector<double> numbers;
    for (const YamlNode& item : values.items) {
      const auto found = number_of(item);
      if (!found)
        return fail(ErrorCode::kInput, fmt::format("{}: {} needs numbers, not {}", name, word,
                                                   in_quotes(item.scalar)));
      numbers.push_back(*found);
    }
    if (row->whole && numbers.size() == 1) numbers.insert(numbers.begin(), 0);
    const std::size_t needed = row->rounds ? 3 : 2;
    if (numbers.size() != needed || values.items.size() > needed)
      return fail(ErrorCode::kInput, fmt::format("{}: {} needs {} numbers", name, word, needed));
    return parameter_of(*row, name, {numbers[0], numbers[1], row->rounds ? numbers[2] : 0});
  }

  Result<void> read_own_spaces(const std::string& name, const YamlNode& values) {
    for (const YamlNode& item : values.items) {
      const YamlEntry* own = item.find("_name");
      if (own == nullptr) continue;
      const Value value = plain_value(own->value);
      DETOL_TRY(read(item, fmt::format("{}.{}.", name, to_text(value)), When{name, {value}}));
    }
    return {};
  }

  const YamlSource& source_;
  std::vector<ForeignParameter> found_;
};

}  // namespace

bool is_nni_space(const YamlNode& tree) {
  return std::ranges::any_of(
      tree.entries, [](const YamlEntry& entry) { return entry.value.find("_type") != nullptr; });
}

Result<ForeignSpace> read_nni_space(const YamlNode& tree, const YamlSource& source) {
  NniReader reader(source);
  DETOL_TRY(reader.read(tree, "", std::nullopt));
  return ForeignSpace{.format = "an NNI search space", .parameters = reader.take()};
}

}  // namespace detol::inline encoding
