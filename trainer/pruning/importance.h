#pragma once

// How much each class of channels (channels.h) matters to a trained network:
//
//   magnitude   the norm of all weights that would be removed, over its mean in the layer group (Li
//               et al., 2017, arXiv 1608.08710; Fang et al., 2023)
//   batch_norm  the sum of |gamma| of the batch norms, over its mean likewise (network slimming,
//   Liu
//               et al., 2017, arXiv 1708.06519); of a layer group without any, the magnitude
//   taylor      the mean over batches of the squared first-order change of the loss, sum of weight
//               times gradient over the class, if its channels were zero (Molchanov et al., 2019,
//               arXiv 1906.10771)

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/network/network.h"
#include "encodings/study/recipe.h"
#include "trainer/backends/weights.h"
#include "trainer/data/dataset.h"
#include "trainer/pruning/channels.h"

namespace detol::inline trainer {

// TrainedOn: what a network was trained with, whose loss the importance is about.
struct TrainedOn {
  const Dataset& data;
  const Recipe& recipe;
  std::string_view backend;
};

struct ImportanceRow {
  std::string_view name;  // of --importance
  std::string_view summary;
  // Returns a number for each class, at least 0. Errors: those of BackendRow::compile.
  Result<std::vector<double>> (*measure)(const Network& network, const Weights& weights,
                                         const ChannelClasses& classes, const TrainedOn& trained);
};

std::span<const ImportanceRow> importances();

}  // namespace detol::inline trainer
