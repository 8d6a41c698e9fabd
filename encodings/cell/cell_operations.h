#pragma once

// The operations of encoding `cell`, for edges and nodes alike. Private to this folder.
//
//   none              no tensor
//   skip_connect      the tensor itself; at stride 2 relu - 1x1 conv - bn
//   max_pool_k, avg_pool_k  a pool of k x k
//   nor_conv_k        relu - conv k - bn
//   sep_conv_k        twice: relu - depthwise k - 1x1 conv - bn; only the first has the stride
//   dil_conv_k        relu - depthwise k of dilation 2 - 1x1 conv - bn
//   conv_kx1_1xk      relu - conv 1 x k - conv k x 1 - bn; only the first has the stride
//
// All keep the channels. Words and layers are those of NAS-Bench-201 (Dong & Yang, 2020, arXiv
// 2001.00326), NASNet (Zoph et al., 2018, arXiv 1707.07012) and DARTS (Liu et al., 2019, arXiv
// 1806.09055). DARTS differs in two things: its skip at stride 2 joins two 1x1 convolutions of half
// the channels, one of them over the image moved by a pixel; and each of its 1 x 7 and 7 x 1
// convolutions has the stride of its own direction.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "encodings/common/path.h"

namespace detol::inline encoding {

enum class OperationForm {
  kNone,
  kSkip,
  kMaxPool,
  kAvgPool,
  kConv,
  kSeparable,
  kDilated,
  kFactorized
};

struct Operation {
  std::string_view name;
  OperationForm form = OperationForm::kNone;
  std::int64_t kernel = 1;
};

inline constexpr std::array kOperations = {
    Operation{"none", OperationForm::kNone},
    Operation{"skip_connect", OperationForm::kSkip},
    Operation{"max_pool_3x3", OperationForm::kMaxPool, 3},
    Operation{"max_pool_5x5", OperationForm::kMaxPool, 5},
    Operation{"max_pool_7x7", OperationForm::kMaxPool, 7},
    Operation{"avg_pool_3x3", OperationForm::kAvgPool, 3},
    Operation{"nor_conv_1x1", OperationForm::kConv, 1},
    Operation{"nor_conv_3x3", OperationForm::kConv, 3},
    Operation{"nor_conv_5x5", OperationForm::kConv, 5},
    Operation{"sep_conv_3x3", OperationForm::kSeparable, 3},
    Operation{"sep_conv_5x5", OperationForm::kSeparable, 5},
    Operation{"sep_conv_7x7", OperationForm::kSeparable, 7},
    Operation{"dil_conv_3x3", OperationForm::kDilated, 3},
    Operation{"dil_conv_5x5", OperationForm::kDilated, 5},
    Operation{"conv_3x1_1x3", OperationForm::kFactorized, 3},
    Operation{"conv_7x1_1x7", OperationForm::kFactorized, 7},
};

// True if the operation begins with a relu, which operations on one tensor share.
bool begins_with_relu(const Operation& operation, std::int64_t stride);

// Adds the operation's layers to the path, which has its relu already. REQUIRES: it is not `none`.
void add_operation(Path& path, const Operation& operation, std::int64_t stride);

}  // namespace detol::inline encoding
