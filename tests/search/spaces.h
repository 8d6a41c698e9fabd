#pragma once

// The spaces that every searcher is tested on, edge cases included.

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "encodings/space/space.h"

namespace detol::testing_support {

struct NamedSpace {
  std::string name;
  Space space;
};

inline Space conditional_space() {
  return SpaceBuilder()
      .add_categorical("opt", {"sgd", "adamw", "lion"})
      .add_float("momentum", 0.8, 0.99, {.when = {"opt", {"sgd"}}})
      .add_bool("nesterov", {.when = {"opt", {"sgd"}}})
      .add_float("nesterov_share", 0, 1, {.when = {"nesterov", {Value(true)}}})
      .add_int("depth", 1, 3)
      .add_categorical("third", {"conv", "identity"}, {.when = {"depth", {Value(std::int64_t{3})}}})
      .build()
      .value();
}

inline Space wide_space(int choices) {
  SpaceBuilder builder;
  for (int i = 0; i < choices; ++i) {
    const std::string name = "c" + std::to_string(i);
    if (i % 2 == 0) builder.add_categorical(name, {"a", "b", "c", "d"});
    if (i % 2 == 1) builder.add_float(name, -1, 1);
  }
  return builder.build().value();
}

// FewFlags allows at most two set flags; the word of a flag that is not set is not expressed.
class FewFlags final : public ArchitectureRules {
 public:
  std::string violation(std::span<const double> codes) const override {
    return set_in(codes) <= 2 ? "" : "more than two flags are set";
  }
  void repair(std::span<double> codes, Rng& rng) const override {
    while (set_in(codes) > 2) codes[2 * rng.below(codes.size() / 2)] = 0;
  }
  std::vector<bool> expressed(std::span<const double> codes) const override {
    std::vector<bool> counts;
    for (std::size_t i = 0; i < codes.size(); ++i)
      counts.push_back(i % 2 == 0 || codes[i - 1] == 1);
    return counts;
  }

 private:
  static int set_in(std::span<const double> codes) {
    int set = 0;
    for (std::size_t i = 0; i < codes.size(); i += 2) set += codes[i] == 1 ? 1 : 0;
    return set;
  }
};

inline Space structured_space() {
  std::vector<Domain> domains;
  for (int i = 0; i < 5; ++i) {
    const std::string node = "architecture.node[" + std::to_string(i) + "]";
    Domain flag, word;
    flag.name = node + ".flag";
    flag.kind = DomainKind::kBool;
    word.name = node + ".word";
    word.kind = DomainKind::kCategorical;
    word.choices = {std::string("a"), std::string("b"), std::string("c")};
    domains.push_back(std::move(flag));
    domains.push_back(std::move(word));
  }
  return SpaceBuilder()
      .add_float("lr", 1e-4, 1, {.log = true})
      .add(std::move(domains), std::make_shared<FewFlags>())
      .build()
      .value();
}

inline std::vector<NamedSpace> all_spaces() {
  return {
      {"conditional", conditional_space()},
      {"categorical", SpaceBuilder()
                          .add_categorical("op", {"conv", "pool", "skip", "none"})
                          .add_categorical("norm", {"batch", "layer"})
                          .add_bool("se")
                          .build()
                          .value()},
      {"one_value", SpaceBuilder().add_categorical("only", {"this"}).build().value()},
      {"two_values", SpaceBuilder().add_bool("flag").build().value()},
      {"log_float", SpaceBuilder().add_float("lr", 1e-6, 1, {.log = true}).build().value()},
      {"steps", SpaceBuilder()
                    .add_float("dropout", 0, 0.5, {.step = 0.1})
                    .add_int("width", 16, 256, {.log = true, .step = 16})
                    .add_numbers("batch", {32, 64, 128}, {.ordered = true})
                    .build()
                    .value()},
      {"wide", wide_space(16)},
      {"structured", structured_space()},
      {"empty", Space()},
  };
}

// Returns one of all_spaces().
inline Space space_named(std::string_view name) {
  for (const NamedSpace& row : all_spaces()) {
    if (row.name == name) return row.space;
  }
  throw std::out_of_range("no space of that name");
}

}  // namespace detol::testing_support
