#include "encodings/study/training_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>

#include "core/table.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;
using enum FieldKind;
using enum InIdentity;

template <typename Row>
std::span<const std::string_view> words_of(std::span<const Row> table) {
  static const std::vector<std::string_view> kWords = names_of(table);
  return kWords;
}

Field number(std::string_view key, double low, double high) {
  return {.key = key, .kind = kNumber, .may_be_domain = true, .low = low, .high = high};
}

Field whole(std::string_view key, double low, double high) {
  return {.key = key, .kind = kInt, .may_be_domain = true, .low = low, .high = high};
}

Field required(Field field) {
  field.required = true;
  return field;
}

Field flag(std::string_view key, bool may_be_domain) {
  return {.key = key, .kind = kBool, .may_be_domain = may_be_domain};
}

template <typename Row>
Field word(std::string_view key, std::span<const Row> table, FieldKind kind = kWord) {
  return {.key = key, .kind = kind, .may_be_domain = true, .words = words_of(table)};
}

constexpr std::string_view kParameters = "parameters", kTraining = "training",
                           kSchedule = "training.schedule", kScaling = "training.scale_lr",
                           kCompression = "training.compression", kAugment = "data.augment",
                           kCrop = "data.augment.random_crop", kCutout = "data.augment.cutout";

using R = Recipe;
using Table = std::array<TrainingSetting, 36>;

const Table& table() {
  static const Table kRows = {{
      {"optimizer", kParameters, word("optimizer", optimizers()), &R::optimizer, kFirstOfGroup},
      {"lr", kParameters, number("lr", 1e-12, 1e3), &R::lr, kAlways},
      {"momentum", kParameters, number("momentum", 0, 0.9999), &R::momentum, kAlways},
      {"nesterov", kParameters, flag("nesterov", true), &R::nesterov, kAlways},
      {"beta2", kParameters, number("beta2", 0, 0.999999), &R::beta2, kAlways},
      {"epsilon", kParameters, number("epsilon", 1e-12, 1), &R::epsilon, kAlways},
      {"weight_decay", kParameters, number("weight_decay", 0, 10), &R::weight_decay, kAlways},
      {"batch_size", kParameters, whole("batch_size", 1, 65536), &R::batch_size, kAlways},
      {"epochs", kTraining, required(whole("epochs", 1, 100000)), &R::epochs, kFirstOfGroup},
      {"loss", kTraining, word("loss", losses()), &R::loss, kAlways},
      {"label_smoothing", kParameters, number("label_smoothing", 0, 0.9), &R::label_smoothing,
       kAlways},
      {"schedule", kTraining, word("schedule", schedules(), kNamed), &R::schedule, kAlways},
      {"warmup_epochs", kSchedule, number("warmup_epochs", 0, 10000), &R::warmup_epochs, kAlways},
      {"precision", kTraining, word("precision", precisions()), &R::precision, kAlways},
      {"deterministic", kTraining, flag("deterministic", false), &R::deterministic, kAlways},
      {"sync_batch_norm", kTraining, flag("sync_batch_norm", false), &R::sync_batch_norm, kAlways},
      {"crop_padding", kCrop, required(whole("padding", 0, 64)), &R::crop_padding, kFirstOfGroup},
      {"horizontal_flip", kAugment, flag("horizontal_flip", true), &R::horizontal_flip, kAlways},
      {"cutout", kCutout, required(whole("size", 0, 1024)), &R::cutout},
      {"milestones",
       kSchedule,
       {.key = "milestones", .kind = kInts, .low = 1, .high = 100000},
       &R::milestones},
      {"every_epochs", kSchedule, whole("every_epochs", 1, 100000), &R::every_epochs},
      {"gamma", kSchedule, number("gamma", 1e-6, 1), &R::gamma},
      {"rise", kSchedule, number("rise", 0, 0.99), &R::rise},
      {"divisor", kSchedule, number("divisor", 1, 1e6), &R::divisor},
      {"final_divisor", kSchedule, number("final_divisor", 1, 1e9), &R::final_divisor},
      {"scale_lr", kTraining, word("scale_lr", rate_scalings(), kNamed), &R::scale_lr},
      {"base_batch", kScaling, whole("base_batch", 1, 65536), &R::base_batch},
      {"trust", kParameters, number("trust", 1e-6, 10), &R::trust},
      {"clip_norm", kTraining, number("clip_norm", 0, 1e6), &R::clip_norm},
      {"ema", kTraining, number("ema", 0, 0.999999), &R::ema},
      {"compression", kTraining, word("compression", compression_kinds(), kNamed), &R::compression},
      {"share", kCompression, number("share", 1e-6, 1), &R::compression_share},
      {"staleness", kTraining, whole("staleness", 0, 16), &R::staleness},
      {"mixup", kTraining, number("mixup", 0, 100), &R::mixup},
      {"class_weights", kTraining, word("class_weights", class_weightings()), &R::class_weights},
      {"early_reports",
       kTraining,
       {.key = "early_reports", .kind = kInts, .low = 2, .high = 1000},
       &R::early_reports},
  }};
  return kRows;
}

// Counts the fields of an aggregate: how many values it can be made of.
struct Anything {
  template <typename T>
  operator T() const;
};

template <typename T, typename... Values>
consteval std::size_t count_fields() {
  if constexpr (requires { T{Values{}..., Anything{}}; })
    return count_fields<T, Values..., Anything>();
  else
    return sizeof...(Values);
}

static_assert(std::tuple_size_v<Table> == count_fields<Recipe>(), "a field without a row");

bool is_inside(std::string_view inner, std::string_view section) {
  return inner.size() > section.size() && inner.starts_with(section) &&
         inner[section.size()] == '.';
}

bool has_setting(std::string_view section, std::string_view key) {
  return std::ranges::any_of(training_settings(), [&](const TrainingSetting& one) {
    return one.section == section && one.field.key == key;
  });
}

// FieldLists makes the fields of all sections once; its lists never move, so spans stay valid.
class FieldLists {
 public:
  std::span<const Field> of(const std::string& section) {
    std::vector<Field> fields;
    for (const TrainingSetting& one : training_settings()) {
      if (one.section == section) {
        fields.push_back(one.field);
        fields.back().children = of(fmt::format("{}.{}", section, one.field.key));
      } else if (is_inside(one.section, section)) {
        add_section(one.section.substr(section.size() + 1), section, fields);
      }
    }
    return lists_.emplace_back(std::move(fields));
  }

 private:
  void add_section(std::string_view inner, const std::string& section, std::vector<Field>& fields) {
    const std::string_view key = inner.substr(0, inner.find('.'));
    if (has_setting(section, key) || std::ranges::find(fields, key, &Field::key) != fields.end())
      return;
    fields.push_back(
        {.key = key, .kind = kSection, .children = of(fmt::format("{}.{}", section, key))});
  }

  std::deque<std::vector<Field>> lists_;
};

// Returns the value of the setting in the file, or nullptr.
const json* value_at(const json& file, const TrainingSetting& setting) {
  const json* node = &file;
  const auto step = [&node](std::string_view key) {
    const auto found = node->find(key);
    node = found == node->end() ? nullptr : &*found;
  };
  for (std::string_view path = setting.section; node != nullptr && !path.empty();) {
    const std::size_t dot = path.find('.');
    step(path.substr(0, dot));
    path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  }
  if (node != nullptr) step(setting.field.key);
  if (node != nullptr && setting.field.kind == kNamed) step("name");
  return node;
}

}  // namespace

std::span<const TrainingSetting> training_settings() {
  return table();
}

std::span<const Field> settings_fields(std::string_view section) {
  static FieldLists lists;
  static const std::map<std::string_view, std::span<const Field>> kKnown = {
      {kParameters, lists.of(std::string(kParameters))},
      {kTraining, lists.of(std::string(kTraining))},
      {kAugment, lists.of(std::string(kAugment))}};
  return kKnown.at(section);
}

void read_settings(const json& file, Recipe& recipe) {
  for (const TrainingSetting& setting : training_settings()) {
    const json* value = value_at(file, setting);
    if (value == nullptr) continue;
    std::visit([&](auto member) { value->get_to(recipe.*member); }, setting.member);
  }
}

std::string identity_text(const Recipe& recipe) {
  const Recipe usual;
  std::string text;
  for (const TrainingSetting& setting : training_settings()) {
    const auto add = [&](auto member) {
      const bool is_usual = recipe.*member == usual.*member;
      if (setting.in_identity != kUnlessDefault)
        text +=
            fmt::format("{} {}", setting.in_identity == kFirstOfGroup ? " |" : "", recipe.*member);
      else if (!is_usual)
        text += fmt::format(" {}={}", setting.name, recipe.*member);
    };
    std::visit(add, setting.member);
  }
  return text;
}

Result<void> check_words(const Recipe& recipe) {
  for (const TrainingSetting& setting : training_settings()) {
    const auto* member = std::get_if<std::string Recipe::*>(&setting.member);
    if (member == nullptr) continue;
    const std::string& word = recipe.**member;
    const bool is_of_trainer = *member == &Recipe::loss && word == kSoftTargetLoss;
    if (is_of_trainer || std::ranges::find(setting.field.words, word) != setting.field.words.end())
      continue;
    return fail(ErrorCode::kInput, fmt::format("{}.{}: {}", setting.section, setting.field.key,
                                               unknown_name("word", word, setting.field.words)));
  }
  return {};
}

}  // namespace detol::inline encoding
