#pragma once

// The stem and the head, which encodings share, and the keys of their sections: `stem` stands
// before the searched layers, `head` turns an image into logits. Private to encodings/.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "encodings/common/path.h"
#include "encodings/schema/schema.h"

namespace detol::inline encoding {

// Keys: `op` (conv_bn_relu, conv_bn_silu, none), `kernel`, `channels`, `stride`.
std::span<const Field> stem_fields();
void add_stem(Path& path, const nlohmann::json& stem);

// Keys: `op` (global_avg_pool_linear, flatten_linear), `hidden`, `activation`, `dropout`.
std::span<const Field> head_fields();
void add_head(Path& path, const nlohmann::json& head, int classes);

// Returns relu, silu.
std::span<const std::string_view> activation_words();

// Returns the section's `activation`; relu if it has none.
Activation activation_of(const nlohmann::json& section);

}  // namespace detol::inline encoding
