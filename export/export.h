#pragma once

// Export: a finished network as a file for other tools. Files are whole or absent, and
// equal models give equal bytes. Every function may be called from any thread.
//
//   onnx         ONNX opset 13, with layer norm 17. Takes the data as they are: bytes of pictures,
//                cells of a table; gives labels, probabilities and logits, or for a regression the
//                prediction in the units of the data (onnx_interface.h, docs/exports.md). Nodes and
//                weights have the network's names. The metadata repeats this, with the class names
//                and the model's properties (export/README.md).
//   safetensors  the weights under the network's names; the same metadata, and the architecture.
//   pytorch      two files: .py, a class of torch.nn to read and edit, and .pt, its state_dict,
//                which the load() of the first reads. Inputs and outputs as of onnx, but vectors
//                are N x C.
//   json         everything about the network but its weights, for people and scripts: layers with
//                shapes, costs and tensors, hyperparameters, metrics, logits to check against.
//   dot          the graph of layers, for Graphviz.
//   svg          the same as a picture, where Graphviz is installed.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "encodings/network/network.h"
#include "encodings/space/domain.h"
#include "trainer/backends/weights.h"
#include "trainer/data/dataset.h"
#include "trainer/data/preprocessing.h"
#include "trainer/evaluator.h"
#include "trainer/threshold.h"

namespace detol::inline exporting {

// CheckLogits: the network's outputs for some images, to check that an exported model computes the
// same.
struct CheckLogits {
  std::string images;                 // a description of them: "the first 64 test images"
  std::int64_t count = 0;             // the number of images
  std::vector<float> pixels;          // count x C x H x W, in [0, 1], or as they are in a table,
                                      // less its offsets
  std::vector<float> logits;          // count x outputs; of a regression in the units of the data,
                                      // less the offsets of its targets
  std::vector<float> mean = {};       // of a regression's targets, per output; else empty
  std::vector<float> deviation = {};  // likewise; both set the tolerance of logits
  std::vector<float> cells = {};      // of a table: count x columns, of which `pixels` are made
};

struct Model {
  Network network;
  Weights weights;               // in the order of network.parameters(); none: it is not trained
  std::vector<float> mean;       // per input channel, of pixels in [0, 1]
  std::vector<float> deviation;  // per input channel, positive
  std::vector<std::string> class_names;                   // empty if the data has none
  std::map<std::string, std::string> properties;          // study, trial, data, ...
  std::vector<std::pair<std::string, Value>> parameters;  // the genome's choices
  std::vector<Metric> metrics;                            // of the epoch that gave the weights
  std::optional<CheckLogits> check;
  TaskKind task = TaskKind::kClassification;
  bool reads_pixels = true;  // bytes / 255; else numbers as they are in the data
  std::shared_ptr<const TableEncoder> table = nullptr;  // of a table's cells; else null
  Offsets offsets = {};  // of the data: all else is of inputs and predictions less them
  std::optional<PictureForm> pictures = {};  // of data that are picture files
  // Of an ensemble, whose network gives the outputs of all members (trainer/ensemble.h): the share
  // of each. Empty: the network's outputs are the model's.
  std::vector<float> shares = {};
  // Of two classes and of labels: the probability above which the second class, or a label, is
  // chosen (trainer/threshold.h).
  double threshold = kUsualThreshold;
  // Whether ONNX leaves out what is before the normalisation and after the logits.
  bool is_raw = false;
};

// Returns how many numbers the model gives: logits or predictions.
std::int64_t outputs_of(const Model& model);

// Returns whether the network's numbers are the data's less offsets: of arrays, and of a table that
// is only standardised. The cells of any other become inputs of their own.
bool has_input_offsets(const Model& model);

// Returns the model's outputs (N x outputs_of) from those of its network.
std::vector<float> outputs_from(const Model& model, std::vector<float> of_network);

// ExporterRow: one file of a format. A format of several files has a row for each.
struct ExporterRow {
  std::string_view name;  // the word of --to
  std::string_view summary;
  std::string_view extension;  // ".onnx"

  // Writes `path`. Errors (kExport): weights that do not fit the network or are not finite, a
  // file too large for its format, a folder that cannot be written.
  Result<void> (*write)(const Model& model, const std::filesystem::path& path);

  // Reads `path` back and compares it with the model. Errors (kExport) name the file and the first
  // difference; nothing is removed.
  Result<void> (*verify)(const Model& model, const std::filesystem::path& path);

  // Returns why this machine cannot write it, in one line; empty if it can. Null: any can.
  std::string (*why_not)() = nullptr;

  bool needs_weights = true;  // else it writes models that are not trained, too
};

// Returns the picture of a network as SVG, which Graphviz draws. Errors (kExport): it is not
// installed, or cannot.
Result<std::string> drawing_of(const Network& network);

// Returns every file detol writes; rows of one format follow each other.
std::span<const ExporterRow> exporters();

// Computes the logits of the first `count` test images (all, if there are fewer) with the reference
// backend: about a second for 64 images of a small network; those of a regression are in the units
// of the data. REQUIRES: the weights are as they were trained. Errors (kExport): no test images.
Result<CheckLogits> check_logits(const Model& model, const Dataset& data, std::int64_t count = 64);

// Computes the logits of drawn images, where the data are not at hand: normal around the mean of
// each channel, equal for equal models. Errors (kExport).
Result<CheckLogits> check_logits(const Model& model, const Preprocessing& data,
                                 std::int64_t count = 64);

// Folds the standardisation of a regression's targets (mean and deviation) into the weights of its
// last layer, or the last one of every member, so that the network's outputs are in the units of
// the data. Other tasks' weights stay. Errors (kExport): such a layer is not a dense one with a
// bias.
Result<void> fold_target_scale(const Preprocessing& data, Model& model);

// Folds every batch norm that alone reads a convolution or dense layer into that layer, which gets
// a bias. The outputs stay equal up to rounding. REQUIRES: weights that fit the network.
Result<void> fold_batch_norms(Model& model);

}  // namespace detol::inline exporting
