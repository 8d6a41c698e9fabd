#pragma once

// The factories of encoding `graph`, which encodings() lists. Private to encodings/.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "core/result.h"
#include "encodings/common/encoding.h"

namespace detol::inline encoding {

std::span<const Field> graph_schema();
Result<Implied> imply_graph(nlohmann::json& architecture);
Result<Network> decode_graph(const nlohmann::json& architecture, const Task& task);
GraphOfCodes labelled_graph(const nlohmann::json& architecture, const Space& space);

// Returns "input,conv_3x3,max_pool_3x3,output|0110,0011,0001,0000": the operations and the
// adjacency matrix of the vertices in use, as NAS-Bench-101 describes its cells. Isomorphic graphs
// of up to eight vertices have one text: the smallest of all orders of their vertices.
std::string graph_key(const nlohmann::json& architecture);

}  // namespace detol::inline encoding
