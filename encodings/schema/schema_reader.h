#pragma once

// SchemaReader: checks a YAML tree against tables of fields and turns it into typed JSON.
// The JSON has {"$": "<name of the choice>"} where a free choice stands for a value.
// Private to encodings/.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "encodings/schema/schema.h"
#include "encodings/schema/yaml_tree.h"
#include "encodings/space/domain.h"

namespace detol::inline encoding {

// A free choice as the file describes it, its condition not yet resolved.
struct FoundDomain {
  Domain domain;
  std::string scope;                // the path where its `when` looks first
  Position at;                      // position of the {type: ...} map
  const YamlEntry* when = nullptr;  // points into the tree that was read
};

struct TypeRow;

class SchemaReader {
 public:
  // The source and every tree that is read must outlive this reader and what it found.
  explicit SchemaReader(const YamlSource& source) : source_(source) {}

  // Reads a map with the keys of `fields`. `path` is the map's ("training"), empty for the file.
  // Errors: all mistakes in it, a line each.
  Result<nlohmann::json> section(const YamlNode& node, std::span<const Field> fields,
                                 const std::string& path);

  const std::vector<FoundDomain>& domains() const { return domains_; }

 private:
  tl::unexpected<Error> unknown_key(const YamlEntry& entry, std::span<const Field> fields,
                                    const std::string& path) const;
  Result<nlohmann::json> field(const YamlNode& node, const Field& field, const std::string& path);
  Result<nlohmann::json> list(const YamlNode& node, const Field& field, const std::string& path);
  Result<nlohmann::json> scalars(const YamlNode& node, const Field& field, const std::string& path);
  Result<nlohmann::json> named_values(const YamlNode& node, const Field& field,
                                      const std::string& path);  // a map of any names
  Result<nlohmann::json> named(const YamlNode& node, const Field& field, const std::string& path);
  Result<nlohmann::json> scalar(const YamlNode& node, const Field& field, const std::string& path);
  Result<nlohmann::json> choice(const YamlNode& node, const Field& field, const std::string& path);
  Result<const TypeRow*> choice_type(const YamlNode& node, const Field& field,
                                     const std::string& path);
  Result<void> check_bounds(const YamlNode& node, const Field& field,
                            const std::string& path) const;
  Result<std::vector<Value>> choices(const YamlNode& list, const Field& field,
                                     const std::string& path) const;
  Result<std::int64_t> repeats(const YamlNode& item, const Field& list, const std::string& path);

  const YamlSource& source_;
  std::vector<FoundDomain> domains_;
};

// Returns the code of a scalar among a domain's values: as it is written, as text, or as the number
// that it is.
std::optional<double> code_of(const Domain& domain, const YamlNode& scalar);

}  // namespace detol::inline encoding
