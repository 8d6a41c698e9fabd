#pragma once

// A network as one short line of text, which the knowledge base keeps:
//
//   network := "1 " shape {" " item}              the version; the input's shape, 3x32x32
//   item    := layer | count "(" item {" " item} ")"          a sequence of layers, repeated
//   layer   := letter [number] {field} ["@" distances]
//   field   := "k" kernel | "h" kernel height | "s" stride | "g" groups | "w" | "d" dilation | "b"
//
//   i input (not written)  c conv        b batch_norm   m max_pool         + add     o dropout
//   r relu  s silu         d dense       l layer_norm   a avg_pool         * scale   f flatten
//   g sigmoid              & concat     n rms_norm     p global_avg_pool
//   and of the other activation functions and kinds their rows' letters (activation.h, layer.cpp)
//
// The number is the channels of a convolution (none: as many as its input has) or a dense layer, or
// the rate of a dropout; "b" is a bias, "w" as many groups as the input has channels. The
// distances say how many layers before each input stands; without them it is the layer before.
// Fields at their default are not written, so that a block has the same text at every width:
//
//   1 3x32x32 c16k3 b r 3(ck3 b r ck3 b +@1,6 r) p d10b

#include <string>

#include "encodings/network/network.h"

namespace detol::inline encoding {

std::string to_text(const Network& network);

}  // namespace detol::inline encoding
