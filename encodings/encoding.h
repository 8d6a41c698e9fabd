#pragma once

// Encoding: what is particular to one kind of architecture: which keys its section of the
// space file may have, and how a concrete section becomes a network. The free choices
// among its scalars are gathered by the space file itself.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "core/result.h"
#include "encodings/network.h"
#include "encodings/schema.h"

namespace detol {

// What the data demands of a network.
struct Task {
  Shape input;      // of one image
  int classes = 0;  // logits
};

struct EncodingRow {
  std::string_view name;  // architecture.type
  std::string_view summary;
  std::span<const Field> schema;  // of the `architecture` section
  // `architecture` is the section with every choice made and every `repeat` unrolled.
  Result<Network> (*decode)(const nlohmann::json& architecture, const Task& task);
};

// Every encoding detol knows, in the order a reader should meet them.
std::span<const EncodingRow> encodings();

}  // namespace detol
