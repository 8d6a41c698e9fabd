#pragma once

// Scores without training ("zero-cost proxies"): numbers of an untrained network that may say how
// well it will train. Each is to be compared with the plainest of them, the number of parameters,
// before anything relies on it (RESULTS.md). Neither beats it, so they are no part of the product.
// The results depend on the arguments alone. Each makes an executable, of which a process has one
// at a time (backend.h), and throws std::bad_alloc when memory is short.
//
// The covariance of the input's Jacobian is not among them: backends have no gradient by the input.

#include <cstdint>
#include <span>
#include <string_view>

#include "core/result.h"
#include "encodings/network/network.h"

namespace detol::inline trainer {

// Returns how differently the network treats `images` (N x C x H x W, normalised) at initial
// weights of this seed: the log-determinant of the N x N matrix that counts, for two images, the
// units of all ReLUs that are on for both or off for both (Mellor, Turner, Storkey and Crowley,
// 2021, "Neural Architecture Search without Training", ICML, arXiv 2006.04647). Batch norm takes
// the statistics of these images. Images that no ReLU tells apart, or no ReLU: minus infinity.
// Cost: a forward and a backward pass of N images. Errors: kUsage for an unknown backend, kInput
// for a network that the backend cannot run. REQUIRES: at least two images.
Result<double> nwot(const Network& network, std::span<const float> images, std::uint64_t seed,
                    std::string_view backend);

// Returns the logarithm of the sum over all weights of |w dR/dw|, where R is the sum of the outputs
// for an image of ones after every weight was replaced by its absolute value and norms and dropout
// were taken out (Tanaka, Kunin, Yamins and Ganguli, 2020, "Pruning Neural Networks without Any
// Data by Iteratively Conserving Synaptic Flow", NeurIPS, arXiv 2006.05467; as a score Abdelfattah,
// Mehrotra, Dudziak and Lane, 2021, "Zero-Cost Proxies for Lightweight NAS", ICLR, arXiv
// 2101.08134). Minus infinity if nothing flows. Cost: a forward and a backward pass of one image in
// the reference backend, in double precision. Errors (kInput): the network cannot be changed so.
Result<double> synflow(const Network& network, std::uint64_t seed);

}  // namespace detol::inline trainer
