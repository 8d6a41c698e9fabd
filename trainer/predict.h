#pragma once

// Predict: inference with a trained network: for validation after an epoch, for the test metrics of
// a finished candidate, and to compare an export with the trained network.

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/network/network.h"
#include "trainer/backends/backend.h"
#include "trainer/backends/weights.h"
#include "trainer/data/augment.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer {

struct Score {
  double loss = 0;      // mean of the task's loss
  double accuracy = 0;  // share of correct predictions, of images or labels; none for regression
  std::int64_t images = 0;
};

// Scoring: a range of the data, of which each rank of a group scores a share.
struct Scoring {
  const Dataset& data;
  const Normaliser& normaliser;  // made from `data`
  Range range;
  Group& group = alone();
  std::span<float> outputs = {};  // empty, or receives the outputs of the range, on every rank
};

// Scores with a compiled network. Every rank makes the call and gets the score over all ranks.
// `may_continue` is called after each batch (on a device, after several); once it returns false,
// the rank stops, and the score is of fewer images. Of an empty range all numbers are 0.
Score score(Executable& executable, const Scoring& scoring,
            const std::function<bool()>& may_continue);

// Scores one split of the data. Errors: kUsage for an unknown backend, kInput for a network that
// the backend cannot run, or that does not fit the images or the weights.
Result<Score> score(const Network& network, const Weights& weights, const Dataset& data,
                    DataSplit split, std::string_view backend);

// Returns the network's outputs for a range of the data: logits, or standardised predictions.
// Errors as above. REQUIRES: range.count > 0.
Result<std::vector<float>> outputs_of(const Network& network, const Weights& weights,
                                      const Dataset& data, Range range, std::string_view backend);

// Returns the logits (N x classes) of N normalised images (N x C x H x W). Errors as above.
Result<std::vector<float>> logits_of(const Network& network, const Weights& weights,
                                     std::span<const float> images, std::string_view backend);

// Returns the images of a range as networks read them: N x C x H x W.
std::vector<float> normalised_images(const Dataset& data, Range range);

// Returns whether the weights have the names and shapes of the network's parameters, in their
// order.
bool fits(const Weights& weights, const Network& network);

// Returns the backend of that name. Errors: kUsage, with the known names.
Result<const BackendRow*> backend_called(std::string_view name);

}  // namespace detol::inline trainer
