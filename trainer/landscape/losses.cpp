#include "trainer/landscape/losses.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>

#include "trainer/backends/backend.h"
#include "trainer/predict.h"

namespace detol::inline trainer {
namespace {

constexpr std::int64_t kBatch = 64;

Weights moved(const PlaneOfWeights& plane, double x, double y) {
  Weights weights = plane.centre;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::size_t at = 0; at < weights[i].data.size(); ++at)
      weights[i].data[at] +=
          static_cast<float>(x * plane.first[i].data[at] + y * plane.second[i].data[at]);
  }
  return weights;
}

Result<std::unique_ptr<Executable>> compiled(const LossOf& what) {
  DETOL_ASSIGN(const BackendRow* row, backend_called(what.backend));
  const Recipe recipe{.batch_size = std::min(what.range.count, kBatch), .loss = what.recipe.loss};
  return row->compile(what.network, recipe, {});
}

}  // namespace

std::vector<double> axis_around_zero(double reach, int points) {
  std::vector<double> axis;
  const int half = points / 2;
  for (int i = -half; i <= half; ++i) axis.push_back(reach * i / half);
  return axis;
}

std::vector<double> axis_over(double low, double high, int points) {
  const double step = high > low ? (high - low) / (points - 2) : 1;
  const int middle = points / 2;
  const double before = high > low ? std::min(std::ceil(-low / step), points - 1.0) : middle;
  std::vector<double> axis;
  for (int i = 0; i < points; ++i) axis.push_back(step * (i - before));
  return axis;
}

Result<std::vector<std::vector<double>>> losses_on(const LossOf& what, const PlaneOfWeights& plane,
                                                   const std::vector<double>& x,
                                                   const std::vector<double>& y,
                                                   const std::function<void()>& on_row) {
  try {
    DETOL_ASSIGN(const auto executable, compiled(what));
    const Normaliser normaliser(what.data);
    std::vector<std::vector<double>> losses;
    for (const double up : y) {
      std::vector<double>& row = losses.emplace_back();
      for (const double right : x) {
        executable->set_state({moved(plane, right, up), {}});
        row.push_back(
            score(*executable, {what.data, normaliser, what.range}, [] { return true; }).loss);
      }
      on_row();
    }
    return losses;
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kInput, "not enough memory to run this network");
  }
}

}  // namespace detol::inline trainer
