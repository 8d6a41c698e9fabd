#include "trainer/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>

#include "core/table.h"
#include "trainer/backends.h"

namespace detol::inline trainer {
namespace {

constexpr std::int64_t kBatch = 64;

// Compiles by the backend's fixed rule, not by a study's choices: no trial is trained with the
// result, and the algorithms differ only by rounding.
Result<std::unique_ptr<Executable>> compile(const Network& network, const Weights& weights,
                                            std::int64_t images, std::string_view backend,
                                            TaskKind task = TaskKind::kClassification) {
  DETOL_ASSIGN(const BackendRow* row, backend_called(backend));
  if (!fits(weights, network)) {
    return fail(ErrorCode::kInput, "these weights belong to another network");
  }
  const Recipe recipe{.batch_size = std::min(images, kBatch),
                      .loss = std::string(row_of(task).losses.front())};
  DETOL_ASSIGN(std::unique_ptr<Executable> executable, row->compile(network, recipe, {}));
  executable->set_state({weights, {}});
  return executable;
}

// Runs an action that returns a Result; running out of memory becomes an error.
template <typename Action>
auto guarded(Action action) -> decltype(action()) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kInput, "not enough memory to run this network");
  }
}

}  // namespace

bool fits(const Weights& weights, const Network& network) {
  const std::vector<NetworkParameter> parameters = network.parameters();
  return std::equal(weights.begin(), weights.end(), parameters.begin(), parameters.end(),
                    [](const Tensor& tensor, const NetworkParameter& parameter) {
                      return tensor.name == parameter.name && tensor.shape == parameter.spec.shape;
                    });
}

Result<const BackendRow*> backend_called(std::string_view name) {
  const BackendRow* row = find_row(backends(), name);
  if (row != nullptr) return row;
  return fail(ErrorCode::kUsage, unknown_name("backend", name, names_of(backends())));
}

std::vector<float> normalised_images(const Dataset& data, Range range) {
  const auto size = static_cast<std::size_t>(data.info.task.input.elements());
  const Normaliser normaliser(data);
  std::vector<float> images(static_cast<std::size_t>(range.count) * size);
  for (std::int64_t i = 0; i < range.count; ++i) {
    normaliser.write(data, range.first + i,
                     std::span(images).subspan(static_cast<std::size_t>(i) * size, size));
  }
  return images;
}

namespace {

struct Sums {
  double loss = 0, correct = 0;  // over the images
  std::int64_t images = 0;
};

// Returns the outputs of these images of the range; empty if none are wanted.
std::span<float> outputs_of(const Scoring& scoring, std::int64_t first, std::int64_t count) {
  const auto width = static_cast<std::size_t>(scoring.data.info.task.classes);
  if (scoring.outputs.empty()) return {};
  return scoring.outputs.subspan(static_cast<std::size_t>(first) * width,
                                 static_cast<std::size_t>(count) * width);
}

// Evaluates kBatches batches at a time, then calls `may_continue` once per batch.
Sums sums_on_device(DeviceSteps& device, const Scoring& scoring, const Shard& share,
                    std::int64_t batch, const std::function<bool()>& may_continue) {
  constexpr std::int64_t kBatches = 64;
  Sums sums;
  for (bool more = true; more && sums.images < share.count;) {
    const std::int64_t first = share.first + sums.images;
    const std::int64_t count = std::min(kBatches * batch, share.count - sums.images);
    const BatchResult result =
        device.evaluate(scoring.range.first + first, count, outputs_of(scoring, first, count));
    sums.loss += result.loss * static_cast<double>(count);
    sums.correct += static_cast<double>(result.correct);
    sums.images += count;
    for (std::int64_t done = 0; done < count; done += batch) more = may_continue() && more;
  }
  return sums;
}

Sums sums_from_host(Executable& executable, const Scoring& scoring, const Shard& share,
                    const std::function<bool()>& may_continue) {
  const Dataset& data = scoring.data;
  const auto size = static_cast<std::size_t>(data.info.task.input.elements());
  const BatchTargets targets = executable.targets();
  const auto batch = static_cast<std::int64_t>(targets.labels.size());
  Sums sums;
  for (bool more = true; more && sums.images < share.count; more = may_continue()) {
    const std::int64_t first = share.first + sums.images;
    const std::int64_t count = std::min(batch, share.count - sums.images);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      scoring.normaliser.write(data, scoring.range.first + first + i,
                               executable.images().subspan(at * size, size));
      data.write_targets(scoring.range.first + first + i, at, targets);
    }
    const BatchResult result = executable.evaluate(count);
    const std::span<float> outputs = outputs_of(scoring, first, count);
    std::ranges::copy(executable.logits().first(outputs.size()), outputs.begin());
    sums.loss += result.loss * static_cast<double>(count);
    sums.correct += static_cast<double>(result.correct);
    sums.images += count;
  }
  return sums;
}

}  // namespace

Score score(Executable& executable, const Scoring& scoring,
            const std::function<bool()>& may_continue) {
  if (scoring.range.count == 0) return {};
  const Dataset& data = scoring.data;
  const Shard share = shard_of(scoring.range.count, scoring.group);
  if (scoring.group.size() > 1) std::ranges::fill(scoring.outputs, 0.0F);
  DeviceSteps* const device = executable.steps_on(data);
  const auto batch = static_cast<std::int64_t>(executable.labels().size());
  const Sums own = device != nullptr ? sums_on_device(*device, scoring, share, batch, may_continue)
                                     : sums_from_host(executable, scoring, share, may_continue);
  std::array<double, 3> sums = {own.loss, own.correct, static_cast<double>(own.images)};
  scoring.group.sum(std::span(sums));
  if (!scoring.outputs.empty()) scoring.group.sum(scoring.outputs);
  return {sums[0] / sums[2], sums[1] / (sums[2] * predictions_per_image(data.info.task)),
          static_cast<std::int64_t>(sums[2])};
}

namespace {

// Scores a range of the data with a network that is compiled for it.
Result<Score> score_range(const Network& network, const Weights& weights, std::string_view backend,
                          const Scoring& scoring) {
  const Task& task = scoring.data.info.task;
  if (network.input_shape() != task.input) {
    return fail(ErrorCode::kInput,
                fmt::format("the network reads images of {}, the data have {}",
                            to_text(network.input_shape()), to_text(task.input)));
  }
  return guarded([&]() -> Result<Score> {
    DETOL_ASSIGN(auto executable,
                 compile(network, weights, scoring.range.count, backend, task.kind));
    return score(*executable, scoring, [] { return true; });
  });
}

}  // namespace

Result<Score> score(const Network& network, const Weights& weights, const Dataset& data,
                    DataSplit split, std::string_view backend) {
  return score_range(network, weights, backend,
                     {data, Normaliser(data), range_of(data.info, split)});
}

Result<std::vector<float>> outputs_of(const Network& network, const Weights& weights,
                                      const Dataset& data, Range range, std::string_view backend) {
  std::vector<float> outputs(static_cast<std::size_t>(range.count * data.info.task.classes));
  DETOL_TRY(
      score_range(network, weights, backend, {data, Normaliser(data), range, alone(), outputs}));
  return outputs;
}

Result<std::vector<float>> logits_of(const Network& network, const Weights& weights,
                                     std::span<const float> images, std::string_view backend) {
  const auto size = static_cast<std::size_t>(network.input_shape().elements());
  const auto classes = static_cast<std::size_t>(network.output().shape.elements());
  const std::size_t all = images.size() / size;
  return guarded([&]() -> Result<std::vector<float>> {
    DETOL_ASSIGN(auto executable,
                 compile(network, weights, static_cast<std::int64_t>(all), backend));
    const std::size_t batch = executable->labels().size();
    std::fill(executable->labels().begin(), executable->labels().end(), 0);
    std::vector<float> logits;
    for (std::size_t first = 0; first < all; first += batch) {
      const std::size_t count = std::min(batch, all - first);
      const auto from = images.subspan(first * size, count * size);
      std::copy(from.begin(), from.end(), executable->images().begin());
      executable->evaluate(static_cast<std::int64_t>(count));
      const auto row = executable->logits().first(count * classes);
      logits.insert(logits.end(), row.begin(), row.end());
    }
    return logits;
  });
}

}  // namespace detol::inline trainer
