#include "scheduler/dataset_distances.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/hash.h"
#include "core/json_text.h"

namespace detol::inline scheduler {
namespace {

using Json = nlohmann::json;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// A number by which data sets are compared: a field of the fact, maybe its logarithm.
struct Feature {
  const char* field;
  bool is_logarithmic = false;
};
constexpr std::array kFeatures = {
    Feature{"samples", true},
    Feature{"features", true},
    Feature{"classes", true},
    Feature{"largest_class"},
    Feature{"entropy"},
    Feature{"skew"},
    Feature{"zeros"},
    Feature{"intrinsic_dimension", true},
    Feature{"nearest_neighbour"},
    Feature{"nearest_centroid"},
    Feature{"ridge"},
};
using Point = std::array<double, kFeatures.size()>;  // NaN: not known

Point point_of(const Fact& fact) {
  Point point;
  point.fill(kUnknown);
  const Json fields = json_or_discarded<Json>(fact.payload);
  if (!fields.is_object()) return point;
  for (std::size_t i = 0; i < point.size(); ++i) {
    const auto found = fields.find(kFeatures[i].field);
    if (found == fields.end() || !found->is_number()) continue;
    const auto value = found->get<double>();
    if (!kFeatures[i].is_logarithmic)
      point[i] = value;
    else if (value > 0)
      point[i] = std::log(value);
  }
  return point;
}

// Returns the standard deviation of each feature over the points that have it.
Point deviations(std::span<const Point> points) {
  Point found;
  for (std::size_t i = 0; i < found.size(); ++i) {
    double count = 0, mean = 0, squares = 0;  // Welford's updates
    for (const Point& point : points) {
      if (std::isnan(point[i])) continue;
      const double before = point[i] - mean;
      mean += before / ++count;
      squares += before * (point[i] - mean);
    }
    found[i] = count > 0 ? std::sqrt(squares / count) : 0;
  }
  return found;
}

double distance(const Point& a, const Point& b, const Point& scale) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = (a[i] - b[i]) / scale[i];
    if (std::isfinite(difference)) sum += difference * difference;
  }
  return std::sqrt(sum / static_cast<double>(a.size()));
}

}  // namespace

std::map<std::uint64_t, double> dataset_distances(std::span<const Fact> facts,
                                                  std::uint64_t fingerprint) {
  std::vector<Point> points;
  for (const Fact& fact : facts) points.push_back(point_of(fact));
  const auto own = std::ranges::find(facts, to_hex(fingerprint), &Fact::key);
  std::map<std::uint64_t, double> distances;
  if (own == facts.end()) return distances;
  const Point& origin = points[static_cast<std::size_t>(own - facts.begin())];
  const Point scale = deviations(points);
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const std::string& key = facts[i].key;
    std::uint64_t other = 0;
    std::from_chars(key.data(), key.data() + key.size(), other, 16);
    distances[other] = distance(origin, points[i], scale);
  }
  return distances;
}

}  // namespace detol::inline scheduler
