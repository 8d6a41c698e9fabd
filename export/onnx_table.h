#pragma once

// The part of an ONNX graph that makes a network's inputs of a table's cells, as
// trainer/data/table_encoder.h defines them. Private to this folder.
//
// A table of numbers alone is one input, floats N x columns. Any other has one input for each
// column, N x 1, as scikit-learn's converters do: floats, with NaN for what is missing and dates as
// days since 1970-01-01; or the texts of a category, empty for what is missing. Texts are
// translated by LabelEncoder of the operator set ai.onnx.ml, version 2; all else is of set 13.
// An input with a column that has an offset is of doubles, from which it is subtracted first.

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "encodings/network/network.h"
#include "trainer/data/offsets.h"
#include "trainer/data/table_encoder.h"

namespace detol::inline exporting {

inline constexpr const char* kOnnxMlDomain = "ai.onnx.ml";
inline constexpr int kOnnxMlOpset = 2;

bool has_categories(const TableEncoder& table);

// Returns the names of the graph's inputs: `input`, or those of the columns. A column whose name
// may be that of a node gets the prefix `column.`.
std::vector<std::string> table_input_names(const TableEncoder& table, const Network& network);

// Declares the inputs and adds the nodes, which are called table.*; returns the last one's output:
// floats N x inputs x 1 x 1, what the network's first layer takes. REQUIRES: as many names as
// table_input_names() returns.
std::string add_table_inputs(onnx::GraphProto& graph, const std::vector<std::string>& names,
                             const TableEncoder& table, const Offsets& offsets);

// Returns whether the input with a column's cells is of doubles.
bool takes_doubles(const TableEncoder& table, const Offsets& offsets, std::size_t column);

}  // namespace detol::inline exporting
