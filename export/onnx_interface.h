#pragma once

// What an ONNX graph has before and after the network: the preparation of its inputs, and labels
// and probabilities. Private to this folder.
//
//   data              graph's inputs                                        made for the network
//   a table           onnx_table.h                                          its encoder's inputs
//   picture files     bytes N x H x W x C of any size (onnx_picture.h)      normalised pixels
//   arrays of bytes   bytes N x H x W x C                                   normalised pixels
//   other numbers     floats N x C x H x W, as they are in the data         normalised numbers
//                     (doubles where they have offsets, trainer/data/offsets.h)
//
//   task             graph's outputs: before `logits`, N x outputs, come
//   classification   `label`: N, the class with the largest logit: its name, or its index where
//                    classes have none; `probabilities`: N x classes
//   binary           likewise, of two classes
//   multi_label      `label`: N x labels, 0 or 1; `probabilities`: N x labels
//   regression       `prediction` alone, N x outputs; doubles where targets have offsets
//
// An ensemble has the nodes of the vote (trainer/ensemble.h), which are called votes.*, before
// these.
//
// A raw model has the input of `other numbers`, of pixels in [0, 1] or of a table's encoded cells,
// and the logits alone.

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "export/export.h"

namespace detol::inline exporting {

// Interface: what of a model decides what stands before and after its network.
struct OnnxInterface {
  const Model& model;              // all but network and weights
  Shape shape;                     // of the network's input
  std::vector<std::string> names;  // of the graph's inputs
};

// Returns the model's, with the names that an exporter gives.
OnnxInterface onnx_interface_of(const Model& model);

// Declares the inputs and adds the nodes before the network; returns the edge that it reads, N x C
// x H x W.
std::string add_inputs(onnx::GraphProto& graph, const OnnxInterface& interface);

// Returns the name of the edge that the network computes: the output's (metadata.h),
// `prediction.less` of targets with offsets, or `votes` of an ensemble, N x (members x outputs).
const char* network_output_name(const Model& model);

// Adds the nodes after the network, and declares the outputs. REQUIRES: the edge that the network
// computes has its name.
void add_outputs(onnx::GraphProto& graph, const Model& model, std::int64_t outputs);

// Checks that a graph from an untrusted file has exactly the declarations, the first nodes or the
// last, and the constants of `expected`. Errors (kInput) name the first that differs.
Result<void> has_nodes(const onnx::GraphProto& graph, int first, const onnx::GraphProto& expected);
Result<void> begins_with(const onnx::GraphProto& graph, const onnx::GraphProto& expected);
Result<void> ends_with(const onnx::GraphProto& graph, const onnx::GraphProto& expected);

}  // namespace detol::inline exporting
