#include <fmt/format.h>

#include <algorithm>

#include "export/export.h"
#include "trainer/backend.h"
#include "trainer/data/augment.h"

namespace detol {

Result<CheckLogits> check_logits(const Model& model, const Dataset& data, std::int64_t count) {
  count = std::min(count, data.info.test);
  if (count < 1) return fail(ErrorCode::kExport, "the data has no test images to check with");
  if (data.info.task.input != model.network.input_shape()) {
    return fail(ErrorCode::kExport,
                fmt::format("the data's images are {}, the network's {}",
                            to_text(data.info.task.input), to_text(model.network.input_shape())));
  }
  Recipe recipe;
  recipe.batch_size = count;
  DETOL_ASSIGN(const std::unique_ptr<Executable> executable,
               backends().back().compile(model.network, recipe));
  executable->set_state({.weights = model.weights, .moments = executable->state().moments});
  const Normaliser normaliser(data);
  const std::size_t size = executable->images().size() / static_cast<std::size_t>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    normaliser.write(data.image(data.info.training + data.info.validation + i),
                     executable->images().subspan(static_cast<std::size_t>(i) * size, size));
  }
  std::ranges::fill(executable->labels(), 0);
  executable->evaluate(count);
  const std::span<const float> logits = executable->logits();
  return CheckLogits{fmt::format("the first {} test images", count), count,
                     std::vector<float>(logits.begin(), logits.end())};
}

}  // namespace detol
