#pragma once

// Predict: inference with a trained network: for validation after an epoch, for the test
// metrics of a finished candidate, for comparing an export with what was trained.

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
  double loss = 0;  // mean, as the task's
  double accuracy =
      0;  // share of right predictions: of images, or of labels; a regression has none
  std::int64_t images = 0;
};

// A range of the data, scored by the ranks of a group, each a share of it.
struct Scoring {
  const Dataset& data;
  const Normaliser& normaliser;  // made from `data`
  Range range;
  Group& group = alone();
  std::span<float> outputs = {};  // none, or receives the outputs of the range, on every rank
};

// Scores with a compiled network. Every rank makes the call and gets the score over all of them.
// `may_continue` is asked after each batch; once it says no, the rank stops there, and the score is
// that of fewer images. REQUIRES: range.count > 0.
Score score(Executable& executable, const Scoring& scoring,
            const std::function<bool()>& may_continue);

// Scores one split of the data. Errors: kUsage for an unknown backend, kInput for a network that
// the backend cannot run, that is made for other images, or that other weights belong to.
Result<Score> score(const Network& network, const Weights& weights, const Dataset& data,
                    DataSplit split, std::string_view backend);

// Logits (N x classes) of N normalised images (N x C x H x W). Errors as above.
Result<std::vector<float>> logits_of(const Network& network, const Weights& weights,
                                     std::span<const float> images, std::string_view backend);

// Images of a range as networks read them: N x C x H x W.
std::vector<float> normalised_images(const Dataset& data, Range range);

// True if the weights have the names and shapes of the network's parameters, in their order.
bool fits(const Weights& weights, const Network& network);

// The row of that name. Errors: kUsage, with the known ones.
Result<const BackendRow*> backend_called(std::string_view name);

}  // namespace detol::inline trainer
