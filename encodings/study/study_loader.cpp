#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/hash.h"
#include "core/rng.h"
#include "core/table.h"
#include "encodings/schema/schema_reader.h"
#include "encodings/schema/yaml_tree.h"
#include "encodings/schema/yaml_value.h"
#include "encodings/space/value_json.h"
#include "encodings/study/command_reader.h"
#include "encodings/study/conditions.h"
#include "encodings/study/data_checks.h"
#include "encodings/study/data_reader.h"
#include "encodings/study/encodings.h"
#include "encodings/study/json_values.h"
#include "encodings/study/objectives.h"
#include "encodings/study/overrides.h"
#include "encodings/study/study_config.h"
#include "encodings/study/study_fields.h"
#include "encodings/study/study_paths.h"
#include "encodings/study/table_reader.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;

Named named_of(const json& section, const char* key, std::string name) {
  Named named{std::move(name), {}};
  if (!section.contains(key)) return named;
  for (const auto& [option, value] : section[key].items()) {
    std::string& target = option == "name" ? named.name : named.options[option];
    target = value;
  }
  return named;
}

}  // namespace

// StudyLoader builds a StudyConfig from a tree, section by section.
class StudyLoader {
 public:
  StudyLoader(const YamlNode& tree, const YamlSource& source) : tree_(tree), source_(source) {}

  Result<StudyConfig> load() {
    SchemaReader reader(source_);
    DETOL_ASSIGN(json file, read_file_section(reader));
    DETOL_TRY(read_plain(file));
    if (file.contains("function"))
      DETOL_TRY(read_function(file.at("function")));
    else if (file.contains("table"))
      DETOL_TRY(read_table(reader, file));
    else if (file.contains("command"))
      DETOL_TRY(read_command(reader, file));
    else if (file.contains("external"))
      DETOL_TRY(read_external(reader, file));
    else
      DETOL_TRY(read_training(reader, file));
    DETOL_TRY(read_objectives(file, tree_, source_, study_));
    DETOL_TRY(read_initial_trials());
    DETOL_TRY(read_warm_start());
    read_positions();
    study_.text = write_yaml(tree_);
    return std::move(study_);
  }

 private:
  // Returns the keys of `architecture`: the shared ones, then those of its encoding.
  Result<std::vector<Field>> encoding_fields() {
    const YamlNode* type = node_at(tree_, {"architecture", "type"});
    if (type == nullptr || type->kind != YamlNode::Kind::kScalar)
      return architecture_fields(nullptr);
    const EncodingRow* row = find_row(encodings(), type->scalar);
    if (row == nullptr) {
      return source_.error(type->at, "architecture.type: " + unknown_name("encoding", type->scalar,
                                                                          names_of(encodings())));
    }
    study_.encoding = row->name;
    return architecture_fields(row);
  }

  Result<json> read_file_section(SchemaReader& reader) {
    const std::span<const StudyKind> kinds = study_kinds();
    const auto own = std::ranges::find_if(kinds, [this](const StudyKind& kind) {
      return &kind == &study_kinds().back() || tree_.find(kind.section) != nullptr;
    });
    if (own->section == "function") return read_function_section(reader, *own);
    DETOL_TRY(stands_instead(*own));
    return read_with_architecture(reader, *own);
  }

  // Reads a file that may have an architecture.
  Result<json> read_with_architecture(SchemaReader& reader, const StudyKind& kind) {
    DETOL_ASSIGN(const std::vector<Field> inner, encoding_fields());
    std::vector<Field> fields(kind.fields.begin(), kind.fields.end());
    std::ranges::find(fields, "architecture", &Field::key)->children = inner;
    if (kind.needs_choices)
      std::ranges::find(fields, "parameters", &Field::key)->required = study_.encoding.empty();
    return reader.section(tree_, fields, "");
  }

  Result<void> none_of(std::initializer_list<std::string_view> keys, std::string_view beside) {
    for (std::string_view key : keys) {
      const YamlEntry* entry = tree_.find(key);
      if (entry != nullptr)
        return source_.error(entry->at, fmt::format("'{}' cannot stand beside {}", key, beside));
    }
    return {};
  }

  // Checks that nothing trains beside a table, a command or an external study.
  Result<void> stands_instead(const StudyKind& kind) {
    if (&kind == &study_kinds().back()) return {};
    const std::string_view why =
        kind.section == "table" ? ", whose candidates are not trained" : ": detol trains nothing";
    return none_of({"data", "training"}, fmt::format("'{}'{}", kind.section, why));
  }

  Result<json> read_function_section(SchemaReader& reader, const StudyKind& kind) {
    DETOL_TRY(none_of({"data", "table", "architecture", "parameters", "training"},
                      "'function', which trains nothing and implies its parameters"));
    const YamlNode* name = node_at(tree_, {"function", "name"});
    const std::vector<std::string_view> names = names_of(functions());
    const std::vector<Field> inner =
        function_fields(find_row(functions(), name == nullptr ? "" : name->scalar), names);
    std::vector<Field> fields(kind.fields.begin(), kind.fields.end());
    std::ranges::find(fields, "function", &Field::key)->children = inner;
    return reader.section(tree_, fields, "");
  }

  Result<void> read_plain(const json& file) {
    study_.study = file.at("study");
    if (!is_study_name(study_.study)) {
      return source_.error(node_at(tree_, {"study"})->at,
                           "study names a folder: " + std::string(kStudyNameRule));
    }
    study_.seed = file.value("seed", std::uint64_t{0});
    const json& search = section_of(file, "search");
    study_.algorithm = named_of(search, "algorithm", "portfolio");
    study_.pruner = named_of(search, "pruner", "none");
    study_.inherit = inherit_from(search.value("inherit", "none"));
    study_.repeats = search.value("repeats", 0);
    study_.final_choice = search.value("final_choice", "auto") != "none";
    study_.budget = file.value("budget", "");
    const json& resources = section_of(file, "resources");
    study_.resources.workers = whole_or_auto(resources, "workers");
    study_.resources.group_size = whole_or_auto(resources, "group_size");
    study_.resources.max_trial_duration_s = resources.value("max_trial_duration", 0.0);
    study_.resources.attempts = resources.value("attempts", 3);
    return {};
  }

  Result<void> read_function(const json& section) {
    FunctionConfig function{.name = section.at("name"), .options = {}};
    for (const auto& [key, value] : section.items()) {
      if (key != "name") function.options[key] = value_in_json(value).value();
    }
    DETOL_ASSIGN(study_.space, find_row(functions(), function.name)->space(function));
    study_.function = std::move(function);
    return {};
  }

  Result<void> read_table(const SchemaReader& reader, json& file) {
    DETOL_TRY(path_or_source(file.at("table"), "table"));
    const EncodingRow* encoding = find_row(encodings(), study_.encoding);
    DETOL_ASSIGN(study_.table, read_table_config(tree_, file, encoding, source_));
    Implied implied;
    if (encoding != nullptr) {
      DETOL_ASSIGN(implied, implied_choices(file.at("architecture")));
    }
    DETOL_TRY(read_space(reader, file, std::move(implied)));
    keep_template(file);
    return {};
  }

  Result<void> read_command(const SchemaReader& reader, json& file) {
    DETOL_ASSIGN(study_.command, read_command_config(tree_, file, source_));
    return read_steps(reader, file, study_.command->steps, "command");
  }

  Result<void> read_external(const SchemaReader& reader, json& file) {
    study_.external = ExternalConfig{.steps = file["external"].value("steps", 0)};
    return read_steps(reader, file, study_.external->steps, "external");
  }

  Result<void> read_steps(const SchemaReader& reader, json& file, int steps, const char* section) {
    study_.max_epochs = steps > 0 ? steps : kEndless;
    study_.keep = file[section].value("keep", "best") == "best" ? Keep::kBest : Keep::kLast;
    DETOL_ASSIGN(study_.network_task, read_network_task(tree_, file, section, source_));
    Implied implied;
    if (study_.network_task) {
      study_.constraints = limits_of(file.at("architecture"));
      DETOL_ASSIGN(implied, implied_choices(file.at("architecture")));
    }
    DETOL_TRY(read_space(reader, file, std::move(implied)));
    keep_template(file);
    return {};
  }

  // Checks that the section has a path, or names the source of the data: --data then gives the
  // path.
  Result<void> path_or_source(const json& section, const char* name) const {
    if (section.contains("path") || section.contains("source")) return {};
    return source_.error(
        node_at(tree_, {name})->at,
        fmt::format("{}: the key 'path' is missing; it must be a word, or left to "
                    "--data beside 'source', which says where to download the data",
                    name));
  }

  Result<void> read_training(const SchemaReader& reader, json& file) {
    study_.constraints = limits_of(file.at("architecture"));
    const json& data = file.at("data");
    study_.data = data_config_from(data);
    DETOL_TRY(path_or_source(data, "data"));
    DETOL_TRY(has_keys_of_its_format(tree_, source_, study_.data.format));
    DETOL_TRY(check_data(tree_, source_, study_.data));
    DETOL_TRY(suits_task(tree_, source_, study_.data));
    DETOL_ASSIGN(Implied implied, implied_choices(file.at("architecture")));
    DETOL_TRY(read_space(reader, file, std::move(implied)));
    study_.max_epochs = static_cast<int>(greatest(file.at("training").at("epochs")));
    const json::json_pointer warmup("/schedule/warmup_epochs");
    study_.longest_warmup = greatest(file.at("training").value(warmup, json(0)));
    study_.deterministic = file.at("training").value("deterministic", true);
    if (file.at("training").contains("keep"))
      study_.keep = file["training"]["keep"] == "best" ? Keep::kBest : Keep::kLast;
    for (int n : file.at("training").value("early_reports", std::vector<int>()))
      study_.early_reports.push_back(1.0 / n);
    std::ranges::sort(study_.early_reports);
    study_.precisions = words_of_training(tree_, "precision");
    keep_template(file);
    return {};
  }

  Result<Implied> implied_choices(json& architecture) const {
    const EncodingRow& row = *find_row(encodings(), study_.encoding);
    if (row.imply == nullptr) return Implied{};
    Result<Implied> implied = row.imply(architecture);
    if (!implied)
      return source_.error(node_at(tree_, {"architecture"})->at, implied.error().message);
    return implied;
  }

  Result<void> read_space(const SchemaReader& reader, const json& file, Implied implied) {
    DETOL_ASSIGN(study_.space, build_space(reader.domains(), file, std::move(implied), source_));
    const bool has_choices = std::ranges::any_of(study_.space.domains(), [](const Domain& domain) {
      return domain.name.starts_with("architecture.");
    });
    if (!has_choices) return {};
    const EncodingRow& row = *find_row(encodings(), study_.encoding);
    study_.space = study_.space.with_graph(row.graph(file.at("architecture"), study_.space));
    return {};
  }

  Result<void> read_initial_trials() {
    const YamlNode* list = node_at(tree_, {"search", "initial_trials"});
    if (list == nullptr || list->kind == YamlNode::Kind::kNull) return {};
    const auto mistake = [&](const YamlNode& node, std::string_view what) {
      return source_.error(node.at, fmt::format("search.initial_trials: {}", what));
    };
    if (list->kind != YamlNode::Kind::kList)
      return mistake(*list, "it must be a list of {parameter: value} maps");
    for (const YamlNode& item : list->items) {
      if (item.kind != YamlNode::Kind::kMap)
        return mistake(item, "an item must be a map {parameter: value}");
      std::vector<std::pair<std::string, Value>> trial;
      for (const YamlEntry& entry : item.entries) {
        if (entry.value.kind != YamlNode::Kind::kScalar)
          return mistake(entry.value, entry.key + " must be a single value");
        trial.emplace_back(entry.key, value_for(entry));
      }
      Rng rng = Rng(study_.seed).split(hash64("initial")).split(study_.initial_trials.size());
      const auto genome = study_.space.complete(trial, rng);
      if (!genome) return mistake(item, genome.error().message);
      study_.initial_trials.push_back(genome->assignments());
    }
    return {};
  }

  Result<void> read_warm_start() {
    const YamlNode* node = node_at(tree_, {"search", "warm_start"});
    if (node == nullptr || node->kind == YamlNode::Kind::kNull) return {};
    const bool is_word = node->kind == YamlNode::Kind::kScalar;
    study_.warm_start.is_auto = is_word && node->scalar == "auto";
    if (is_word && (node->scalar == "auto" || node->scalar == "none")) return {};
    const auto mistake = [&](const YamlNode& at) {
      return source_.error(at.at, "search.warm_start must be auto, none or a list of studies");
    };
    if (node->kind != YamlNode::Kind::kList) return mistake(*node);
    for (const YamlNode& item : node->items) {
      if (item.kind != YamlNode::Kind::kScalar || !is_study_name(item.scalar)) return mistake(item);
      study_.warm_start.studies.push_back(item.scalar);
    }
    return {};
  }

  // Returns the entry's value as its domain types it; as YAML reads it if the domain lacks it.
  Value value_for(const YamlEntry& entry) const {
    if (const auto index = study_.space.index_of(entry.key)) {
      const Domain& domain = study_.space.domains()[*index];
      if (const auto code = code_of(domain, entry.value)) return domain.value_of(*code);
    }
    return plain_value(entry.value);
  }

  // Returns the largest number that a setting can take.
  double greatest(const json& setting) const {
    if (setting.is_number()) return setting.get<double>();
    const auto index = study_.space.index_of(setting.at("$").get<std::string>());
    const Domain& domain = study_.space.domains()[*index];
    double most = domain.high;
    for (const Value& choice : domain.choices) {
      const auto* whole = std::get_if<std::int64_t>(&choice);
      most =
          std::max(most, whole != nullptr ? static_cast<double>(*whole) : std::get<double>(choice));
    }
    return most;
  }

  Place place_of(std::initializer_list<std::string_view> path) const {
    const YamlNode* node = node_at(tree_, path);
    return node == nullptr ? Place{.text = source_.name} : source_.at(node->at);
  }

  void read_positions() {
    study_.algorithm_at = place_of({"search", "algorithm"});
    study_.pruner_at = place_of({"search", "pruner"});
    study_.initial_trials_at = place_of({"search", "initial_trials"});
    study_.data_format_at = place_of({"data", "format"});
    const char* data = study_.table ? "table" : "data";
    study_.data_path_at = study_.data_path().empty() ? place_of({data}) : place_of({data, "path"});
    study_.budget_at = place_of({"budget"});
    study_.precision_at = place_of({"training", "precision"});
  }

  // Keeps only what candidate() reads.
  void keep_template(json& file) {
    json kept = json::object();
    for (const char* key : {"data", "architecture", "parameters", "training"}) {
      if (file.contains(key)) kept[key] = std::move(file[key]);
    }
    study_.template_ = std::make_shared<const json>(std::move(kept));
  }

  const YamlNode& tree_;
  const YamlSource& source_;
  StudyConfig study_;
};

namespace {

// Loads a study. Relative paths of data are resolved with `folder`; nullopt: they stay as written.
Result<StudyConfig> load(std::string_view yaml, std::string_view name,
                         const std::vector<Override>& overrides,
                         const std::optional<std::filesystem::path>& folder) {
  YamlSource source{std::string(name), {}};
  for (const Override& one : overrides) source.override_paths.push_back(one.path);
  DETOL_ASSIGN(YamlNode tree, parse_yaml(yaml, source));
  if (tree.kind == YamlNode::Kind::kNull)
    return source.error({}, "the file is empty; configs/cnn.yaml is an example to start from");
  if (tree.kind != YamlNode::Kind::kMap)
    return source.error(tree.at, "a space file is a map: version: 1, study: ..., data: ...");
  const bool is_of_a_table = tree.find("table") != nullptr;
  std::vector<Override> meant = overrides;
  for (Override& one : meant) {
    if (is_of_a_table && one.path == "data.path") one.path = "table.path";
  }
  DETOL_TRY(apply_overrides(tree, meant, source));
  if (folder) DETOL_TRY(make_paths_absolute(tree, *folder));
  return StudyLoader(tree, source).load();
}

}  // namespace

Result<StudyConfig> load_study_config(std::string_view yaml, std::string_view source,
                                      const std::vector<Override>& overrides) {
  return load(yaml, source, overrides, std::nullopt);
}

Result<StudyConfig> read_study_text(std::string_view yaml, std::string_view source,
                                    const std::vector<Override>& overrides) {
  return load(yaml, source, overrides, ".");
}

Result<StudyConfig> read_study_config(const std::string& path,
                                      const std::vector<Override>& overrides) {
  DETOL_ASSIGN(const std::string yaml, read_file_or_pipe(path, kMaxYamlBytes, /*wait_s=*/4));
  return load(yaml, path, overrides, std::filesystem::path(path).parent_path());
}

}  // namespace detol::inline encoding
