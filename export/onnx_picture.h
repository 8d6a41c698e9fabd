#pragma once

// The part of an ONNX graph that makes a network's pixels of decoded pictures of any size, equal to
// the loader's bit by bit: colours as in trainer/data/formats/picture_colours.h, then the square as
// in resize.h there. All weights are computed from the picture's own size, in 64-bit integers; the
// sums are of whole numbers below 2^24 (scaled by 2^-16), which floats add exactly in any order.
// Needs operators of set 13 alone. Private to this folder.
//
// Reading a file, and turning it upright as its EXIF orientation says, stays outside of the graph.

#include <onnx/onnx_pb.h>

#include <string>

#include "encodings/network/layer.h"
#include "trainer/data/picture_form.h"

namespace detol::inline exporting {

// PictureInput: what the graph is fed, as bytes N x H x W x C: the N pictures of a batch are of one
// size.
struct PictureInput {
  PictureForm form;
  Shape shape;  // of the network's input; form.size is its height and width, or 0
  // Pictures from files: C is 3, red, green and blue, or 4, with alpha, and of any H and W if there
  // is a form.size. Else arrays, whose C, H and W are the network's.
  bool is_from_files = true;
};

// Declares the graph's input.
void declare_picture_input(onnx::GraphProto& graph, const std::string& name,
                           const PictureInput& picture);

// Adds the nodes, which are called picture.*, and returns the last one's output: floats N x C x H x
// W in [0, 1], what the network's normalisation takes.
std::string add_picture_input(onnx::GraphProto& graph, const std::string& name,
                              const PictureInput& picture);

}  // namespace detol::inline exporting
