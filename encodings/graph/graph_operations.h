#pragma once

// The operations of encoding `graph`, one for each vertex. Private to this folder.
//
//   conv_k           conv k - bn - relu
//   sep_conv_k       depthwise k - 1x1 conv - bn - relu
//   dil_conv_k       conv k of dilation 2 - bn - relu
//   max_pool_k, avg_pool_k  a pool of k x k
//   skip_connect     nothing
//   ..._stride2      halves the image, rounding up
//
// conv_3x3, conv_1x1 and max_pool_3x3 are those of NAS-Bench-101 (Ying et al., 2019, arXiv
// 1902.09635), where a convolution stands before its batch norm and relu, too.

#include <array>
#include <cstdint>
#include <string_view>

#include "encodings/common/path.h"

namespace detol::inline encoding {

enum class VertexForm { kConv, kSeparable, kMaxPool, kAvgPool, kSkip };

struct VertexOperation {
  std::string_view name;
  VertexForm form = VertexForm::kConv;
  std::int64_t kernel = 1, stride = 1, dilation = 1;
};

inline constexpr std::array kVertexOperations = {
    VertexOperation{"conv_1x1", VertexForm::kConv, 1},
    VertexOperation{"conv_3x3", VertexForm::kConv, 3},
    VertexOperation{"conv_5x5", VertexForm::kConv, 5},
    VertexOperation{"conv_7x7", VertexForm::kConv, 7},
    VertexOperation{"sep_conv_3x3", VertexForm::kSeparable, 3},
    VertexOperation{"sep_conv_5x5", VertexForm::kSeparable, 5},
    VertexOperation{"sep_conv_7x7", VertexForm::kSeparable, 7},
    VertexOperation{"dil_conv_3x3", VertexForm::kConv, 3, 1, 2},
    VertexOperation{"dil_conv_5x5", VertexForm::kConv, 5, 1, 2},
    VertexOperation{"max_pool_3x3", VertexForm::kMaxPool, 3},
    VertexOperation{"max_pool_5x5", VertexForm::kMaxPool, 5},
    VertexOperation{"avg_pool_3x3", VertexForm::kAvgPool, 3},
    VertexOperation{"avg_pool_5x5", VertexForm::kAvgPool, 5},
    VertexOperation{"skip_connect", VertexForm::kSkip},
    VertexOperation{"conv_3x3_stride2", VertexForm::kConv, 3, 2},
    VertexOperation{"sep_conv_3x3_stride2", VertexForm::kSeparable, 3, 2},
    VertexOperation{"max_pool_3x3_stride2", VertexForm::kMaxPool, 3, 2},
    VertexOperation{"avg_pool_3x3_stride2", VertexForm::kAvgPool, 3, 2},
};

// Adds the operation's layers. Convolutions make `channels`; the others keep the path's.
void add_vertex_operation(Path& path, const VertexOperation& operation, std::int64_t channels);

// True if the operation makes any number of channels from any other.
bool sets_channels(const VertexOperation& operation);

}  // namespace detol::inline encoding
