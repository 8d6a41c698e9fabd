// Tests of `detol schema`: it accepts and refuses what the reader of space files does, and every
// key of it is documented.

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "core/file.h"
#include "core/table.h"
#include "encodings/schema/yaml_value.h"
#include "encodings/study/study_config.h"
#include "scheduler/pruners/pruner.h"
#include "search/searcher.h"
#include "tests/support/json_schema.h"
#include "trainer/data/formats/formats.h"

namespace detol {
namespace {

using nlohmann::json;

const json& schema() {
  static const json kSchema = [] {
    const auto call = parse({"schema"});
    testing::internal::CaptureStdout();
    EXPECT_TRUE(run_call(*call));
    return json::parse(testing::internal::GetCapturedStdout());
  }();
  return kSchema;
}

bool accepts(const json& file) {
  return testing_support::JsonSchemaCheck(schema()).accepts(file);
}

json as_json(const YamlNode& node) {
  json value;
  if (node.kind == YamlNode::Kind::kScalar)
    std::visit([&](const auto& plain) { value = plain; }, plain_value(node));
  if (node.kind == YamlNode::Kind::kList) value = json::array();
  if (node.kind == YamlNode::Kind::kMap) value = json::object();
  for (const YamlNode& item : node.items) value.push_back(as_json(item));
  for (const YamlEntry& entry : node.entries) value[entry.key] = as_json(entry.value);
  return value;
}

json read_yaml(const std::string& text) {
  return as_json(parse_yaml(text, YamlSource{"test", {}}).value());
}

// Returns the files of configs/, and the whole space files among the examples of the documentation.
std::vector<std::string> space_files() {
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(DETOL_SOURCE_DIR "/configs"))
    files.push_back(read_file(file.path()).value());
  const std::string document = read_file(DETOL_SOURCE_DIR "/docs/space-file.md").value();
  const std::string begin = "```yaml\n";
  for (std::size_t at = document.find(begin); at != std::string::npos;
       at = document.find(begin, at + 1)) {
    const std::size_t from = at + begin.size();
    const std::string block = document.substr(from, document.find("```", from) - from);
    if (block.starts_with("version: 1\n")) files.push_back(block);
  }
  return files;
}

// Calls `use` with copies of the file, each of which differs from it in one place.
void for_each_change(json& file, json& at, const std::function<void(const json&)>& use) {
  const json kept = at;
  for (const json& other : {json("nonsense"), json(3), json(-1), json(0.5), json(true),
                            json::array({1, 1}), json{{"type", "int"}, {"low", 1}, {"high", 2}},
                            json{{"type", "categorical"}, {"choices", {"a", 7}}}}) {
    at = other;
    use(file);
  }
  at = kept;
  if (at.is_object()) {
    for (const auto& [key, value] : kept.items()) {
      at.erase(key);
      use(file);
      at[key + "x"] = value;
      use(file);
      at = kept;
    }
  }
  for (auto& inner : at) {
    if (at.is_structured()) for_each_change(file, inner, use);
  }
}

// Returns why the reader, or who reads a word of another room, refuses the file; empty: nobody.
std::string refusal(const json& file) {
  const auto config = load_study_config(file.dump(), "test");
  if (!config) return config.error().message;
  const bool is_known = find_row(searchers(), config->algorithm.name) != nullptr &&
                        find_row(pruners(), config->pruner.name) != nullptr &&
                        (!config->trains() || find_row(formats(), config->data.format) != nullptr);
  return is_known ? "" : "unknown word";
}

TEST(Schema, AcceptsEveryBundledSpaceAndEveryExampleOfTheDocumentation) {
  ASSERT_GT(space_files().size(), 15u);
  for (const std::string& file : space_files()) EXPECT_TRUE(accepts(read_yaml(file))) << file;
}

TEST(Schema, RefusesUnknownAndMissingKeysAndNothingThatTheReaderAccepts) {
  int refused = 0;
  for (const std::string& text : space_files()) {
    json file = read_yaml(text);
    for_each_change(file, file, [&](const json& changed) {
      const std::string why = refusal(changed);
      const bool is_accepted = accepts(changed);
      EXPECT_TRUE(is_accepted || !why.empty()) << changed;
      if (why.find("unknown key") != std::string::npos && why.find('\n') == std::string::npos) {
        EXPECT_FALSE(is_accepted) << why << changed;
        ++refused;
      }
    });
  }
  EXPECT_GT(refused, 300);
}

TEST(Schema, NamesTheWordsAndDefaultsOfTheTables) {
  const json& training = schema()["else"]["else"]["else"]["else"]["properties"];
  const json optimizer = training["parameters"]["properties"]["optimizer"];
  EXPECT_EQ(optimizer["default"], "sgd");
  EXPECT_EQ(optimizer["else"]["enum"],
            optimizer["then"]["allOf"][0]["then"]["properties"]["choices"]["items"]["enum"]);
  const json algorithms = training["search"]["properties"]["algorithm"]["else"]["enum"];
  EXPECT_NE(std::ranges::find(algorithms, "portfolio"), algorithms.end());
}

// Collects the keys of maps in a schema.
void collect_keys(const json& at, std::set<std::string>& keys) {
  if (!at.is_structured()) return;
  if (at.is_object() && at.contains("properties") && at.contains("type"))
    for (const auto& [key, value] : at["properties"].items()) keys.insert(key);
  for (const json& inner : at) collect_keys(inner, keys);
}

// Returns the words of a document's code, in blocks and between backticks.
std::set<std::string> words_of_code(const std::string& document) {
  std::set<std::string> words;
  std::string word;
  bool is_code = false;
  for (const char c : document) {
    if (c == '`') is_code = !is_code;
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
      continue;
    }
    if (is_code || c == '`') words.insert(word);
    word.clear();
  }
  return words;
}

TEST(Schema, HasNoKeyThatTheDocumentationDoesNotName) {
  std::set<std::string> keys;
  collect_keys(schema(), keys);
  EXPECT_GT(keys.size(), 100u);
  const std::set<std::string> words =
      words_of_code(read_file(DETOL_SOURCE_DIR "/docs/space-file.md").value());
  for (const std::string& key : keys)
    EXPECT_TRUE(words.contains(key)) << "docs/space-file.md does not name " << key;
}

}  // namespace
}  // namespace detol
