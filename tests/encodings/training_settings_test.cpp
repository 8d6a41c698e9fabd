#include "encodings/study/training_settings.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "core/file.h"

namespace detol {
namespace {

// Changes a value to another one.
void change(std::string& value) {
  value += "2";
}
void change(bool& value) {
  value = !value;
}
void change(std::vector<int>& value) {
  value.push_back(3);
}
template <typename Number>
void change(Number& value) {
  value += 1;
}

TEST(TrainingSettings, EachOneChangesTheIdentityInItsOwnWay) {
  std::set<std::string> seen = {identity_text(Recipe{})};
  for (const TrainingSetting& setting : training_settings()) {
    Recipe recipe;
    std::visit([&](auto member) { change(recipe.*member); }, setting.member);
    EXPECT_TRUE(seen.insert(identity_text(recipe)).second) << setting.name;
  }
}

TEST(TrainingSettings, NoTwoAreTheSameField) {
  const Recipe recipe;
  std::set<const void*> fields;
  for (const TrainingSetting& setting : training_settings()) {
    const auto place = [&](auto member) -> const void* { return &(recipe.*member); };
    EXPECT_TRUE(fields.insert(std::visit(place, setting.member)).second) << setting.name;
  }
}

// A resume compares this text with the one that an older detol stored, so it must never change.
TEST(TrainingSettings, TheIdentityIsTheTextThatItAlwaysWas) {
  EXPECT_EQ(identity_text(Recipe{}),
            " | sgd 0.1 0.9 true 0.999 1e-08 0 64 | 1 cross_entropy 0 cosine 0 fp32 true false | 0 "
            "false");
  Recipe recipe{.optimizer = "lars", .weight_decay = 0.01, .epochs = 9, .crop_padding = 2};
  recipe.cutout = 8;
  recipe.milestones = {4, 6};
  recipe.every_epochs = 7;
  recipe.gamma = 0.5;
  recipe.rise = 0.25;
  recipe.divisor = 20;
  recipe.final_divisor = 100;
  recipe.scale_lr = "linear";
  recipe.base_batch = 128;
  recipe.trust = 0.01;
  recipe.clip_norm = 2;
  recipe.ema = 0.99;
  recipe.compression = "top_k";
  recipe.compression_share = 0.05;
  recipe.staleness = 2;
  recipe.mixup = 0.2;
  recipe.early_reports = {9, 3};
  EXPECT_EQ(identity_text(recipe),
            " | lars 0.1 0.9 true 0.999 1e-08 0.01 64 | 9 cross_entropy 0 cosine 0 fp32 true false "
            "| 2 false cutout=8 milestones=[4, 6] every_epochs=7 gamma=0.5 rise=0.25 divisor=20 "
            "final_divisor=100 scale_lr=linear base_batch=128 trust=0.01 clip_norm=2 ema=0.99 "
            "compression=top_k share=0.05 staleness=2 mixup=0.2 early_reports=[9, 3]");
}

TEST(TrainingSettings, AnUnknownWordIsAnErrorThatNamesTheSetting) {
  EXPECT_TRUE(check_words(Recipe{}));
  const auto refused = check_words(Recipe{.optimizer = "adm"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "parameters.optimizer: unknown word 'adm'; did you mean 'adam'? known: sgd, adamw, "
            "rmsprop, lars, adam");
}

// Documented: the default of a setting in docs/space-file.md, and the line that states it.
struct Documented {
  std::string usual, line;
};

std::vector<std::string> parts_of(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at != std::string_view::npos;) {
    const std::size_t end = text.find(separator, at);
    parts.emplace_back(text.substr(at, end - at));
    at = end == std::string_view::npos ? end : end + separator.size();
  }
  return parts;
}

std::map<std::string, Documented> documented_settings() {
  const std::string text = read_file(DETOL_SOURCE_DIR "/docs/space-file.md").value();
  std::map<std::string, Documented> found;
  std::string section;
  for (const std::string& line : parts_of(text, "\n")) {
    if (line.starts_with("## ")) section = line.substr(3);
    if (line.starts_with("| key of schedule")) section = "training.schedule";
    const bool is_row =
        line.starts_with("| `") && (section == "parameters" || section.starts_with("training") ||
                                    (section == "data" && line.starts_with("| `augment.")));
    if (!is_row) continue;
    const std::vector<std::string> cells = parts_of(line, " | ");
    const std::vector<std::string> keys = parts_of(cells[0].substr(2), ", ");
    const std::vector<std::string> usual = parts_of(cells[1], ", ");
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::string key = keys[i].substr(1, keys[i].size() - 2);  // without its quotes
      found[section + "." + key] = {usual.size() == keys.size() ? usual[i] : cells[1], line};
    }
  }
  return found;
}

bool is_default(const std::string& text, const std::string& value) {
  return text == value;
}
bool is_default(const std::string& text, bool value) {
  return text == (value ? "true" : "false");
}
bool is_default(const std::string& text, const std::vector<int>&) {
  return text == "none";
}
template <typename Number>
bool is_default(const std::string& text, Number value) {
  if (text == "required") return true;
  return text == "none" ? value == 0 : std::strtod(text.c_str(), nullptr) == double(value);
}

TEST(TrainingSettings, TheDocumentListsEachWithItsDefaultAndNoOther) {
  std::map<std::string, Documented> documented = documented_settings();
  for (const TrainingSetting& setting : training_settings()) {
    const std::string section(setting.section), key(setting.field.key);
    const auto own = documented.find(section + "." + key);
    if (own == documented.end()) {  // then the line of the setting that it belongs to shows it
      EXPECT_TRUE(documented.contains(section)) << section << "." << key;
      EXPECT_NE(documented[section].line.find(key + ": "), std::string::npos) << key;
      continue;
    }
    const auto agrees = [&](auto member) {
      return is_default(own->second.usual, Recipe{}.*member);
    };
    if (own->second.usual != "by the task") {
      EXPECT_TRUE(std::visit(agrees, setting.member)) << own->second.line;
    }
    for (const std::string_view word : setting.field.words)
      EXPECT_TRUE(own->second.line.find(word) != std::string::npos || key == "loss") << word;
  }
  for (const auto& [path, row] : documented) {
    const bool is_known =
        std::ranges::any_of(training_settings(), [&](const TrainingSetting& setting) {
          return path == std::string(setting.section) + "." + std::string(setting.field.key);
        });
    EXPECT_TRUE(is_known || path == "training.keep") << path;  // which is not of the recipe
  }
}

}  // namespace
}  // namespace detol
