// From a genome to a candidate: every choice made, the network built, its cost known.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/table.h"
#include "encodings/network/canonical.h"
#include "encodings/study/encodings.h"
#include "encodings/study/study_config.h"

namespace detol {
namespace {

using nlohmann::json;
using Refused = StudyConfig::Refused;

// `node` with every {"$": name} replaced by the genome's choice. The value of an inactive
// choice is left out, so that its default holds.
json resolved(const json& node, const Genome& genome) {
  if (node.is_array()) {
    json items = json::array();
    for (const json& item : node) items.push_back(resolved(item, genome));
    return items;
  }
  if (!node.is_object()) return node;
  if (const auto choice = node.find("$"); choice != node.end()) {
    const auto name = choice->get<std::string>();
    if (!genome.is_active(name)) return {};
    return std::visit([](const auto& value) { return json(value); }, genome.value(name));
  }
  json members = json::object();
  for (const auto& [key, member] : node.items()) {
    json value = resolved(member, genome);
    if (!value.is_null()) members[key] = std::move(value);
  }
  return members;
}

// Overwrites `target` where the section says something.
template <typename T>
void read(const json& section, const char* key, T& target) {
  if (const auto found = section.find(key); found != section.end()) found->get_to(target);
}

Recipe recipe_of(const json& file, TaskKind task) {
  Recipe recipe;
  recipe.loss = row_of(task).losses.front();
  const json parameters = file.value("parameters", json::object());
  read(parameters, "optimizer", recipe.optimizer);
  read(parameters, "lr", recipe.lr);
  read(parameters, "momentum", recipe.momentum);
  read(parameters, "nesterov", recipe.nesterov);
  read(parameters, "beta2", recipe.beta2);
  read(parameters, "epsilon", recipe.epsilon);
  read(parameters, "weight_decay", recipe.weight_decay);
  read(parameters, "trust", recipe.trust);
  read(parameters, "batch_size", recipe.batch_size);
  read(parameters, "label_smoothing", recipe.label_smoothing);

  const json& training = file.at("training");
  read(training, "epochs", recipe.epochs);
  read(training, "loss", recipe.loss);
  read(training, "clip_norm", recipe.clip_norm);
  read(training, "ema", recipe.ema);
  read(training, "mixup", recipe.mixup);
  read(training, "precision", recipe.precision);
  read(training, "deterministic", recipe.deterministic);
  read(training, "sync_batch_norm", recipe.sync_batch_norm);
  read(training, "staleness", recipe.staleness);
  const json schedule = training.value("schedule", json::object());
  read(schedule, "name", recipe.schedule);
  read(schedule, "warmup_epochs", recipe.warmup_epochs);
  read(schedule, "milestones", recipe.milestones);
  read(schedule, "every_epochs", recipe.every_epochs);
  read(schedule, "gamma", recipe.gamma);
  read(schedule, "rise", recipe.rise);
  read(schedule, "divisor", recipe.divisor);
  read(schedule, "final_divisor", recipe.final_divisor);
  const json scaling = training.value("scale_lr", json::object());
  read(scaling, "name", recipe.scale_lr);
  read(scaling, "base_batch", recipe.base_batch);
  const json compression = training.value("compression", json::object());
  read(compression, "name", recipe.compression);
  read(compression, "share", recipe.compression_share);

  const json augment = file.at("data").value("augment", json::object());
  read(augment.value("random_crop", json::object()), "padding", recipe.crop_padding);
  read(augment, "horizontal_flip", recipe.horizontal_flip);
  read(augment.value("cutout", json::object()), "size", recipe.cutout);
  return recipe;
}

}  // namespace

tl::expected<Candidate, Refused> StudyConfig::candidate(const Genome& genome,
                                                        const Task& task) const {
  if (!trains()) return Candidate{};
  const json file = resolved(*template_, genome);
  const EncodingRow& row = *find_row(encodings(), encoding);
  Result<Network> network = row.decode(file.at("architecture"), task);
  if (!network) return tl::unexpected(Refused{Cause::kInvalid, network.error().message});
  Candidate made;
  made.network = *std::move(network);
  made.recipe = recipe_of(file, task.kind);
  const Result<Cost> cost = cost_of(made.network);
  if (!cost) return tl::unexpected(Refused{Cause::kTooLarge, cost.error().message});
  made.cost = *cost;
  std::string broken = broken_constraints(*cost, constraints);
  if (!broken.empty()) return tl::unexpected(Refused{Cause::kTooLarge, std::move(broken)});
  made.arch_hash = canonical_hash(made.network);
  return made;
}

std::vector<std::string> StudyConfig::table_key(const Genome& genome) const {
  const json file = resolved(*template_, genome);
  const json parameters = file.value("parameters", json::object());
  std::vector<std::string> texts;
  for (const KeyColumn& column : table->key) {
    if (column.parameter.empty()) {
      texts.push_back(find_row(encodings(), encoding)->key(file.at("architecture")));
    } else {
      const json value = parameters.value(column.parameter, json(""));
      texts.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  return texts;
}

std::string StudyConfig::architecture_json(const Genome& genome) const {
  if (template_ == nullptr || !template_->contains("architecture")) return "null";
  json architecture = resolved(template_->at("architecture"), genome);
  architecture.erase("constraints");
  return architecture.dump();
}

}  // namespace detol
