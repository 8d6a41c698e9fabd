#include "trainer/data/batch_sharing.h"

#include <fmt/format.h>

#include <algorithm>

namespace detol::inline trainer {

std::string why_not_shared(const DatasetInfo& info, std::int64_t batch, int ranks) {
  const std::int64_t images = info.training > 0 ? std::min(batch, info.training) : batch;
  if (images >= ranks) return {};
  return fmt::format("a batch of {} cannot be shared by the {} ranks of a group", images, ranks);
}

}  // namespace detol::inline trainer
