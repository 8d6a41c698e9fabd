#pragma once

// Encoding: what is particular to one kind of architecture: which keys its section of the
// space file may have, which choices the section implies, and how a concrete section becomes a
// network. The reader of the space file gathers the free choices among the section's scalars.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/network/network.h"
#include "encodings/network/task.h"
#include "encodings/schema/schema.h"
#include "encodings/space/architecture_rules.h"
#include "encodings/space/domain.h"
#include "encodings/space/labelled_graph.h"

namespace detol::inline encoding {

class Space;

// Choices that a section implies beyond its scalars ("one operation for each of six edges").
struct Implied {
  std::vector<Domain> choices;  // by their full names, "architecture.cell.edge[0]"
  std::shared_ptr<const ArchitectureRules>
      rules;  // between the choices; null: every assignment is a network
};

struct EncodingRow {
  std::string_view name;  // architecture.type
  std::string_view summary;
  std::span<const Field> schema;  // of the `architecture` section
  // Adds {"$": name} to the section wherever decode() looks for an implied choice. Null: there are
  // none. Errors (kInput): keys that do not fit together, named from "architecture." on.
  Result<Implied> (*imply)(nlohmann::json& architecture);
  // Builds the network of a section with every choice made and every `repeat` unrolled. Errors
  // (kInput): no network can be built for this task; the message is the reason of the refusal.
  Result<Network> (*decode)(const nlohmann::json& architecture, const Task& task);
  // Returns the text under which tables of architectures list this one, "|nor_conv_3x3~0|+...";
  // takes the same section as decode(). Null: there is no such text.
  std::string (*key)(const nlohmann::json& architecture) = nullptr;
  // Returns the graphs of the architectures of a space; takes the section with {"$": name} in the
  // place of every choice, as imply() left it.
  GraphOfCodes (*graph)(const nlohmann::json& architecture, const Space& space) = nullptr;
};

}  // namespace detol::inline encoding
