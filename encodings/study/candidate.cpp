// StudyConfig::candidate resolves every choice, builds the network and computes its cost.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/table.h"
#include "encodings/network/canonical.h"
#include "encodings/space/value_json.h"
#include "encodings/study/encodings.h"
#include "encodings/study/json_values.h"
#include "encodings/study/study_config.h"
#include "encodings/study/training_settings.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;
using Refused = StudyConfig::Refused;

// Returns `node` with every {"$": name} replaced by the genome's choice. The value of an inactive
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
    return json_value(genome.value(name));
  }
  json members = json::object();
  for (const auto& [key, member] : node.items()) {
    json value = resolved(member, genome);
    if (!value.is_null()) members[key] = std::move(value);
  }
  return members;
}

Recipe recipe_of(const json& file, TaskKind task) {
  Recipe recipe;
  recipe.loss = row_of(task).losses.front();
  read_settings(file, recipe);
  return recipe;
}

}  // namespace

Result<Candidate> with_network(Candidate candidate, Network network) {
  DETOL_ASSIGN(candidate.cost, cost_of(network));
  candidate.arch_hash = canonical_hash(network);
  candidate.network = std::move(network);
  return candidate;
}

tl::expected<Candidate, Refused> StudyConfig::candidate(const Genome& genome,
                                                        const Task& task) const {
  Candidate made;
  if (ends_by_itself()) made.recipe.epochs = max_epochs;
  if (!has_networks()) return made;
  const json file = resolved(*template_, genome);
  const EncodingRow& row = *find_row(encodings(), encoding);
  Result<Network> network = row.decode(file.at("architecture"), network_task.value_or(task));
  if (!network) return tl::unexpected(Refused{Cause::kInvalid, network.error().message});
  made.network = *std::move(network);
  if (trains()) made.recipe = recipe_of(file, task.kind);
  const Result<Cost> cost = cost_of(made.network);
  if (!cost) return tl::unexpected(Refused{Cause::kTooLarge, cost.error().message});
  made.cost = *cost;
  std::string broken = broken_constraints(*cost, constraints);
  if (!broken.empty()) return tl::unexpected(Refused{Cause::kTooLarge, std::move(broken), *cost});
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
      texts.push_back(value.is_string() ? value.get<std::string>() : compact(value));
    }
  }
  return texts;
}

std::vector<std::pair<std::string, Value>> StudyConfig::parameters(const Genome& genome) const {
  std::vector<std::pair<std::string, Value>> values;
  const json all = resolved(section_of(*template_, "parameters"), genome);
  for (const auto& [name, value] : all.items())
    values.emplace_back(name, value_in_json(value).value());
  return values;
}

std::string StudyConfig::architecture_json(const Genome& genome) const {
  if (template_ == nullptr || !template_->contains("architecture")) return "null";
  json architecture = resolved(template_->at("architecture"), genome);
  architecture.erase("constraints");
  return compact(architecture);
}

Result<std::vector<Genome>> initial_genomes(const StudyConfig& config) {
  std::vector<Genome> genomes;
  for (const auto& params : config.initial_trials) {
    DETOL_ASSIGN(Genome genome, config.space.genome(params));
    genomes.push_back(std::move(genome));
  }
  return genomes;
}

Result<StudyConfig> for_new_study(const StudyConfig& config) {
  if (!config.trains() || config.keep) return config;
  return load_study_config(config.text, config.study, {{"training.keep", "best"}});
}

Result<StudyConfig> for_begun_study(const StudyConfig& config, std::string_view begun_with) {
  if (!config.trains() || config.keep) return config;
  DETOL_ASSIGN(const StudyConfig begun, load_study_config(begun_with, config.study));
  return begun.keep == Keep::kBest ? for_new_study(config) : config;
}

}  // namespace detol::inline encoding
