#include "trainer/test_metrics.h"

#include <algorithm>
#include <numeric>

#include "trainer/backends/loss.h"
#include "trainer/metrics.h"
#include "trainer/predict.h"

namespace detol::inline trainer {
namespace {

// PerImage holds what each image adds to a loss and an accuracy.
struct PerImage {
  std::vector<double> losses, correct;
};

PerImage per_image(const Dataset& data, Range range, std::span<const float> outputs,
                   const Recipe& recipe) {
  const std::int64_t width = data.info.task.classes;
  Loss loss(loss_called(recipe.loss), width, /*smoothing=*/0);
  std::vector<std::int32_t> label(1);
  std::vector<float> targets(takes_labels(training_loss_of(recipe)) ? 0 : static_cast<std::size_t>(width));
  const BatchTargets one{.labels = label, .targets = targets};
  PerImage all;
  for (std::int64_t i = 0; i < range.count; ++i) {
    data.write_targets(range.first + i, 0, one);
    const auto logits =
        outputs.subspan(static_cast<std::size_t>(i * width), static_cast<std::size_t>(width));
    const BatchResult result = loss(LossInput<float>{logits, one, {}, 1});
    all.losses.push_back(result.loss);
    all.correct.push_back(static_cast<double>(result.correct) /
                          predictions_per_image(data.info.task));
  }
  return all;
}

// Returns the mean of a number of each image, of which image i is there times[i] times.
double mean(std::span<const double> numbers, std::span<const std::uint16_t> times) {
  return std::inner_product(numbers.begin(), numbers.end(), times.begin(), 0.0) /
         static_cast<double>(numbers.size());
}

bool is_of_validation(std::string_view metric) {
  return metric.starts_with("val_");
}

// Evaluation of one network: its metrics by their names in validation.
class TestScores {
 public:
  TestScores(const Dataset& data, Range range, std::span<const float> outputs, const Recipe& recipe)
      : task_(data.info.task),
        images_(per_image(data, range, outputs, recipe)),
        metrics_(data, range),
        times_(static_cast<std::size_t>(range.count), 1) {
    std::ranges::copy(outputs, metrics_.outputs().begin());
    metrics_.freeze();
  }

  std::vector<TestMetric> with_intervals() {
    std::vector<TestMetric> found;
    std::vector<std::vector<double>> resampled;
    for (const std::string_view name : row_of(task_.kind).metrics) {
      if (!is_of_validation(name)) continue;
      found.push_back({std::string(name), value_of(name), {}});
    }
    resampled.resize(found.size());
    const auto cells = static_cast<std::int64_t>(times_.size()) * task_.classes;
    for (std::uint64_t number = 0; number < resamples_for(cells); ++number) {
      draw_resample(number, times_);
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (!is_share(found[i].name)) resampled[i].push_back(value_of(found[i].name));
      }
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto count = static_cast<std::int64_t>(times_.size());
      found[i].interval = is_share(found[i].name) ? wilson_interval(found[i].value, count)
                                                  : percentile_interval(std::move(resampled[i]));
      found[i].name = "test_" + found[i].name.substr(std::string_view("val_").size());
    }
    return found;
  }

 private:
  // Returns whether it is the share of images with a right answer.
  bool is_share(std::string_view name) const {
    return predictions_per_image(task_) == 1 && (name == "val_accuracy" || name == "val_top5");
  }

  double value_of(std::string_view name) {
    if (name == "val_loss") return mean(images_.losses, times_);
    if (name == "val_accuracy") return mean(images_.correct, times_);
    return metrics_.value_of(name, times_);
  }

  const Task& task_;
  const PerImage images_;
  Metrics metrics_;
  std::vector<std::uint16_t> times_;  // of each image
};

}  // namespace

std::vector<double> metrics_of(const Dataset& data, Range range, std::span<const float> outputs,
                               const Recipe& recipe, const std::vector<std::string>& names) {
  const PerImage images = per_image(data, range, outputs, recipe);
  const std::vector<std::uint16_t> once(static_cast<std::size_t>(range.count), 1);
  Metrics metrics(data, range);
  std::ranges::copy(outputs, metrics.outputs().begin());
  std::vector<double> values;
  for (const std::string& name : names) {
    values.push_back(name == "val_loss"       ? mean(images.losses, once)
                     : name == "val_accuracy" ? mean(images.correct, once)
                                              : metrics.value_of(name));
  }
  return values;
}

std::vector<TestMetric> metrics_with_intervals(const Dataset& data, Range range,
                                               std::span<const float> outputs,
                                               const Recipe& recipe) {
  return TestScores(data, range, outputs, recipe).with_intervals();
}

Result<std::vector<TestMetric>> test_metrics(const Network& network, const Weights& weights,
                                             const Recipe& recipe, const Dataset& data,
                                             std::string_view backend) {
  const Range range = range_of(data.info, DataSplit::kTest);
  if (range.count < 1) return fail(ErrorCode::kInput, "the data have no test part");
  DETOL_ASSIGN(const auto outputs, outputs_of(network, weights, data, range, backend));
  return metrics_with_intervals(data, range, outputs, recipe);
}

}  // namespace detol::inline trainer
