#pragma once

// The factories of encoding `cell`, which encodings() lists. Private to encodings/.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/common/encoding.h"

namespace detol::inline encoding {

std::span<const Field> cell_schema();
Result<Implied> imply_cell(nlohmann::json& architecture);
std::string cell_key(const nlohmann::json& architecture);
Result<Network> decode_cell(const nlohmann::json& architecture, const Task& task);
GraphOfCodes labelled_cell(const nlohmann::json& architecture, const Space& space);

// The functions that decode_cell and imply_cell share.

// True for `edges: op_on_node`.
bool has_op_on_node(const nlohmann::json& architecture);

// True if the network has cells that halve the image.
bool has_reduction(const nlohmann::json& architecture);

// Counts the input tensors of every intermediate node of op_on_node; the first nodes may have
// fewer.
std::vector<std::size_t> inputs_of_nodes(const nlohmann::json& architecture);

// kCellInputs: how many tensors a cell of op_on_node has before its node 0.
inline constexpr std::size_t kCellInputs = 2;

// Returns the word for a tensor of a cell of op_on_node: input0, input1, node0, node1, ...
std::string tensor_word(std::size_t index);

}  // namespace detol::inline encoding
