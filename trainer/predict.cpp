#include "trainer/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>

#include "core/table.h"

namespace detol {
namespace {

constexpr std::int64_t kBatch = 64;

// By the backend's fixed rule, whatever a study chose: no trial is made of what comes out here, and
// the ways differ by rounding.
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

// `action` returns a Result; running out of memory becomes an error.
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

Score score(Executable& executable, const Scoring& scoring, const std::function<bool()>& goes_on) {
  const Dataset& data = scoring.data;
  const auto size = static_cast<std::size_t>(data.info.task.input.elements());
  const std::span<float> images = executable.images();
  const Answers answers = executable.answers();
  const auto batch = static_cast<std::int64_t>(answers.labels.size());
  const Shard share = shard_of(scoring.range.count, scoring.group);
  const auto width = static_cast<std::size_t>(data.info.task.classes);
  if (scoring.group.size() > 1) std::ranges::fill(scoring.outputs, 0.0F);
  double loss = 0, correct = 0;
  std::int64_t images_done = 0;
  if (DeviceSteps* device = executable.steps_on(data)) {
    const auto at = static_cast<std::size_t>(share.first) * width;
    const auto numbers = static_cast<std::size_t>(share.count) * width;
    const bool wanted = !scoring.outputs.empty();
    const BatchResult all =
        device->evaluate(scoring.range.first + share.first, share.count,
                         wanted ? scoring.outputs.subspan(at, numbers) : scoring.outputs);
    loss = all.loss * static_cast<double>(share.count);
    correct = static_cast<double>(all.correct);
    images_done = share.count;
  }
  for (bool more = true; more && images_done < share.count; more = goes_on()) {
    const std::int64_t count = std::min(batch, share.count - images_done);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t image = scoring.range.first + share.first + images_done + i;
      const auto at = static_cast<std::size_t>(i) * size;
      scoring.normaliser.write(data, image, images.subspan(at, size));
      data.write_answer(image, static_cast<std::size_t>(i), answers);
    }
    const BatchResult result = executable.evaluate(count);
    if (!scoring.outputs.empty()) {
      const auto at = static_cast<std::size_t>(share.first + images_done) * width;
      std::ranges::copy(executable.logits().first(static_cast<std::size_t>(count) * width),
                        scoring.outputs.begin() + static_cast<std::ptrdiff_t>(at));
    }
    loss += result.loss * static_cast<double>(count);
    correct += static_cast<double>(result.correct);
    images_done += count;
  }
  std::array<double, 3> sums = {loss, correct, static_cast<double>(images_done)};
  scoring.group.sum(std::span(sums));
  if (!scoring.outputs.empty()) scoring.group.sum(scoring.outputs);
  return {sums[0] / sums[2], sums[1] / (sums[2] * answers_of(data.info.task)),
          static_cast<std::int64_t>(sums[2])};
}

Result<Score> score(const Network& network, const Weights& weights, const Dataset& data, Part part,
                    std::string_view backend) {
  const Range range = range_of(data.info, part);
  if (network.input_shape() != data.info.task.input) {
    return fail(ErrorCode::kInput,
                fmt::format("the network reads images of {}, the data have {}",
                            to_text(network.input_shape()), to_text(data.info.task.input)));
  }
  return guarded([&]() -> Result<Score> {
    DETOL_ASSIGN(auto executable,
                 compile(network, weights, range.count, backend, data.info.task.kind));
    return score(*executable, {data, Normaliser(data), range}, [] { return true; });
  });
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

}  // namespace detol
