#include "search/gp_climb.h"

#include <algorithm>

#include "surrogate/maximise.h"

namespace detol::inline search {
namespace {

constexpr std::size_t kMostClimbs = 5;
constexpr int kClimb = 30;                    // evaluations of a climb
constexpr double kClimbWork = 60e6;           // multiply-adds of all climbs of an ask, about
constexpr std::size_t kManyCandidates = 512;  // changes of choices, where features are many
constexpr std::size_t kClimbsNearby = 3;      // with the observations near their start alone

// Returns all other values of a choice with few, or the two next to it in a long order.
std::vector<double> steps_of(const Domain& domain, double code) {
  std::vector<double> codes;
  const double count = domain.cardinality();
  if (count <= 12) {
    for (double i = 0; i < count; ++i) {
      const double other = domain.code_at((i + 0.5) / count);
      if (other != code) codes.push_back(other);
    }
    return codes;
  }
  for (double step : {-1 / count, 1 / count}) {
    const double u = domain.position_of(code) + step;
    if (u < 0 || u >= 1) continue;
    const double other = domain.code_at(u);
    if (other != code) codes.push_back(other);
  }
  return codes;
}

}  // namespace

std::size_t GpClimber::affordable() const {
  if (neighbourhoods_.are_used()) return kClimbsNearby;
  const double n = static_cast<double>(in_.model.output(0).rows());
  const auto climbs = static_cast<std::size_t>(
      std::clamp(kClimbWork / (kClimb * n * n), 2.0, static_cast<double>(kMostClimbs)));
  const std::size_t fewer = affordable_candidates(kManyCandidates, in_.features);
  return std::max<std::size_t>(1, climbs * fewer / kManyCandidates);
}

Scored GpClimber::operator()(const Scored& start) {
  Scored at = climb_numbers(start);
  for (int round = 0; round < 3; ++round) {
    const Scored stepped = step_choices(at);
    if (stepped.value <= at.value) break;
    at = climb_numbers(stepped);
  }
  return at;
}

std::vector<std::size_t> GpClimber::continuous(const Genome& genome) const {
  std::vector<std::size_t> domains;
  for (std::size_t i = 0; i < in_.space.size(); ++i) {
    const Domain& domain = in_.space.domains()[i];
    if (genome.is_active(i) && domain.kind == DomainKind::kFloat && domain.step == 0 &&
        domain.low < domain.high)
      domains.push_back(i);
  }
  return domains;
}

Genome GpClimber::moved(const Genome& genome, std::span<const std::size_t> domains,
                        std::span<const double> x) {
  std::vector<double> codes(genome.codes().begin(), genome.codes().end());
  for (std::size_t i = 0; i < domains.size(); ++i)
    codes[domains[i]] = in_.space.domains()[domains[i]].code_at(x[i]);
  return in_.space.repair(std::move(codes), rng_);
}

Scored GpClimber::climb_numbers(const Scored& start) {
  const std::vector<std::size_t> domains = continuous(start.genome);
  if (domains.empty()) return start;
  std::vector<double> x;
  Box box;
  for (std::size_t i : domains) {
    x.push_back(in_.space.domains()[i].position_of(start.genome.codes()[i]));
    box.low.push_back(region_ == nullptr ? 0 : std::min(region_->low[i], x.back()));
    box.high.push_back(region_ == nullptr ? 1 : std::max(region_->high[i], x.back()));
  }
  const std::span<const LazyGp> nearby = neighbourhoods_.around(start.genome);
  const auto acquired = [&](std::span<const double> u, std::span<double> gradient) {
    return value_at(moved(start.genome, domains, u), domains, nearby, gradient);
  };
  const Maximum top = maximise(acquired, x, box, {.max_evaluations = kClimb, .tolerance = 1e-4});
  Scored end{moved(start.genome, domains, top.x), top.value};
  if (!nearby.empty()) end = with_chances({end.genome}).front();
  return end.value > start.value ? end : start;
}

std::vector<Scored> GpClimber::with_chances(std::vector<Genome> genomes) const {
  std::vector<Scored> scored = scorer_.score(std::move(genomes));
  scorer_.add_chances(scored);
  return scored;
}

// Returns the criterion and the chance of success at a genome; fills `gradient` by the positions of
// `domains`.
double GpClimber::value_at(const Genome& genome, std::span<const std::size_t> domains,
                           std::span<const LazyGp> nearby, std::span<double> gradient) const {
  const Point point = in_.features.of(genome);
  std::vector<LazyGp::Slope> slopes;
  std::vector<Prediction> at;
  for (std::size_t j = 0; j < scorer_.outputs(); ++j) {
    slopes.push_back(in_.model.slope(j, nearby.empty() ? in_.model.output(j) : nearby[j], point));
    at.push_back(slopes.back().at);
  }
  const GpCriterion::Value value = scorer_.criterion()(at);
  std::vector<double> by_column(in_.features.number_columns(), 0);
  double sum = value.value;
  if (in_.failures.is_informed()) {
    GpFailures::Chance chance = in_.failures.chance(point);
    sum += chance.log;
    by_column = std::move(chance.slope);
  }
  for (std::size_t j = 0; j < scorer_.outputs(); ++j) {
    for (std::size_t i = 0; i < by_column.size(); ++i)
      by_column[i] +=
          value.by_mean[j] * slopes[j].mean[i] + value.by_variance[j] * slopes[j].variance[i];
  }
  const std::vector<double> by_position = in_.features.by_position(genome, by_column);
  for (std::size_t i = 0; i < domains.size(); ++i) gradient[i] = by_position[domains[i]];
  return sum;
}

// Returns the discrete choices that count; some of them, drawn at random, where all are too many.
std::vector<std::size_t> GpClimber::choices_to_step(const Genome& genome) {
  std::vector<std::size_t> choices;
  const std::vector<bool> counts = in_.space.expressed(genome);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (!counts[i] || in_.space.domains()[i].cardinality() > 1e6) continue;
    if (in_.restart && in_.restart->branches.decides(i)) continue;
    choices.push_back(i);
  }
  const std::size_t most = affordable_candidates(kManyCandidates, in_.features);
  if (most == kManyCandidates || choices.size() <= most) return choices;
  rng_.shuffle(std::span(choices));
  choices.resize(most);
  return choices;
}

// Returns the best genome that differs in one discrete choice.
Scored GpClimber::step_choices(const Scored& at) {
  std::vector<Genome> neighbours;
  for (const std::size_t i : choices_to_step(at.genome)) {
    const Domain& domain = in_.space.domains()[i];
    for (double code : steps_of(domain, at.genome.codes()[i])) {
      std::vector<double> codes(at.genome.codes().begin(), at.genome.codes().end());
      codes[i] = code;
      Genome neighbour = in_.space.repair(std::move(codes), rng_);
      if (!in_.taken.contains(in_.space.identity(neighbour)))
        neighbours.push_back(std::move(neighbour));
    }
  }
  Scored best = at;
  for (Scored& each : with_chances(std::move(neighbours))) {
    if (each.value > best.value) best = std::move(each);
  }
  return best;
}

}  // namespace detol::inline search
