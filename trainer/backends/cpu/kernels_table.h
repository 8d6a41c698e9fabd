#pragma once

// The table of kernels of one instruction set, under the name DETOL_KERNELS (lanes.h).

#include "trainer/backends/cpu/kernels.h"
#include "trainer/backends/cpu/kernels_activation.h"
#include "trainer/backends/cpu/kernels_attention.h"
#include "trainer/backends/cpu/kernels_dense.h"
#include "trainer/backends/cpu/kernels_depthwise.h"
#include "trainer/backends/cpu/kernels_dropout.h"
#include "trainer/backends/cpu/kernels_element.h"
#include "trainer/backends/cpu/kernels_image.h"
#include "trainer/backends/cpu/kernels_layer_norm.h"
#include "trainer/backends/cpu/kernels_norm.h"
#include "trainer/backends/cpu/kernels_window.h"
#include "trainer/backends/cpu/kernels_winograd.h"

namespace detol::inline trainer::cpu {

const Kernels DETOL_KERNELS = {
    kLanes,
    norm_statistics,
    norm_forward,
    norm_sums,
    norm_backward,
    layer_norm,
    layer_norm_backward,
    layer_norm_weights,
    activation_kernels(std::make_index_sequence<kActivations.size()>()),
    add,
    multiply,
    dropout,
    update,
    multiply_all,
    average,
    scale,
    scale_gradient,
    global_pool,
    global_pool_backward,
    max_pool,
    max_pool_backward,
    avg_pool,
    avg_pool_backward,
    attention,
    attention_backward,
    depthwise,
    depthwise_backward,
    depthwise_weights,
    image,
    image_weights,
    dense,
    dense_backward,
    dense_weights,
    winograd,
    winograd_backward,
    winograd_weights,
};

}  // namespace detol::inline trainer::cpu
