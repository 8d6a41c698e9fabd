#include "search/gp_proposal.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/hash.h"
#include "search/perturb.h"
#include "surrogate/acquisition.h"
#include "surrogate/maximise.h"
#include "surrogate/pathwise.h"

namespace detol {
namespace {

constexpr std::size_t kIncumbents = 5;
constexpr std::size_t kStarts = 5;
constexpr std::size_t kPromising = 300;  // candidates whose chance to fail is looked at
constexpr double kFailureLength = 0.1;   // per root of the dimension, at most
constexpr double kRedrawn = 20;          // choices of a candidate of the region, on average at most
constexpr std::size_t kSampled = 300;    // candidates of a Thompson sample
constexpr int kClimb = 30;               // evaluations of a climb
constexpr double kClimbWork = 60e6;      // multiply-adds of all climbs of an ask, about
constexpr std::size_t kMostExact = 1024;  // rows above which climbs see a neighbourhood alone,
constexpr std::size_t kNear = 256;        // of so many observations
constexpr std::size_t kClimbsNearby = 3;

struct Scored {
  Genome genome;
  double value;
};

// That of the values, but more local: a trial fails or it does not, which no long length describes.
Kernel likeness_of_failures(const ProposalInput& input) {
  KernelParameters parameters = input.model.output(0).kernel().parameters();
  const double longest = kFailureLength * std::sqrt(static_cast<double>(parameters.lengths.size()));
  for (double& length : parameters.lengths) length = std::min(length, longest);
  return Kernel(input.features, std::move(parameters));
}

class Proposal {
 public:
  Proposal(const ProposalInput& input, Rng rng)
      : in_(input),
        process_(input.model.output(0)),
        criterion_(input.model, input.acquisition),
        likeness_(likeness_of_failures(input)),
        rng_(rng) {}

  Genome operator()() {
    if (in_.acquisition == GpAcquisition::kThompson) return lowest_of_a_sample(somewhere());
    if (in_.side == 0) {
      std::vector<Scored> scored = score_candidates();
      for (Scored& local : score(local_candidates())) scored.push_back(std::move(local));
      return best_after_climbing(std::move(scored));
    }
    set_region();
    if (in_.model.observed().objectives == 1 && rng_.chance(0.5))
      return lowest_of_a_sample(region_candidates());
    return best_after_climbing(score(region_candidates()));
  }

 private:
  Genome best_after_climbing(std::vector<Scored> scored) {
    std::ranges::stable_sort(scored, std::greater<>(), &Scored::value);
    if (in_.failed.size() > 0) {
      scored.resize(std::min(scored.size(), kPromising));
      for (Scored& each : scored) each.value += log_feasible(each.genome);
      std::ranges::stable_sort(scored, std::greater<>(), &Scored::value);
    }
    std::vector<Scored> starts = distinct(scored);
    const std::size_t climbs = std::min(affordable_climbs(), starts.size());
    for (std::size_t i = 0; i < climbs; ++i) {
      starts.push_back(climb(starts[i]));
      starts.back().value += log_feasible(starts.back().genome);
    }
    std::ranges::stable_sort(starts, std::greater<>(), &Scored::value);
    for (const Scored& each : starts) {
      if (!is_taken(each.genome)) return each.genome;
    }
    return fresh_draw();
  }

  // Candidates of the region, or from everywhere and near the best.
  std::vector<Genome> somewhere() {
    if (in_.side > 0) {
      set_region();
      return region_candidates();
    }
    std::vector<Genome> genomes(in_.candidates.begin(), in_.candidates.end());
    for (Genome& local : local_candidates()) genomes.push_back(std::move(local));
    rng_.shuffle(std::span(genomes));
    return genomes;
  }

  // By Thompson sampling: where one function that the posterior allows is lowest.
  Genome lowest_of_a_sample(std::vector<Genome> genomes) {
    std::erase_if(genomes, [&](const Genome& genome) {
      return is_taken(genome) || !rng_.chance(std::exp(log_feasible(genome)));
    });
    if (genomes.empty()) return fresh_draw();
    if (genomes.size() > kSampled) genomes.resize(kSampled);
    Points points = in_.features.none();
    for (const Genome& genome : genomes) points.push_back(in_.features.of(genome));
    const std::vector<double> values = sample_at(process_, points, rng_.split(hash64("sample")));
    return genomes[static_cast<std::size_t>(std::ranges::min_element(values) - values.begin())];
  }

  std::size_t affordable_climbs() const {
    const double n = static_cast<double>(process_.rows());
    if (process_.rows() > kMostExact) return kClimbsNearby;
    return static_cast<std::size_t>(
        std::clamp(kClimbWork / (kClimb * n * n), 2.0, static_cast<double>(kStarts)));
  }

  bool is_taken(const Genome& genome) const {
    return in_.taken.contains(in_.space.identity(genome));
  }

  Genome fresh_draw() {
    Genome genome = in_.space.sample(rng_);
    for (int i = 0; i < 20 && is_taken(genome); ++i) genome = in_.space.sample(rng_);
    return genome;
  }

  std::size_t outputs() const { return in_.model.fits().size(); }

  std::vector<Scored> score_candidates() const {
    std::vector<std::vector<Prediction>> predictions;
    for (std::size_t i = 0; i < outputs(); ++i)
      predictions.push_back(in_.model.output(i).predict_candidates());
    return scored({in_.candidates.begin(), in_.candidates.end()}, predictions);
  }

  std::vector<Scored> score(std::vector<Genome> genomes) const {
    Points points = in_.features.none();
    for (const Genome& genome : genomes) points.push_back(in_.features.of(genome));
    std::vector<std::vector<Prediction>> predictions;
    for (std::size_t i = 0; i < outputs(); ++i)
      predictions.push_back(in_.model.output(i).predict(points));
    return scored(std::move(genomes), predictions);
  }

  // `predictions`: of each output, of each genome.
  std::vector<Scored> scored(std::vector<Genome> genomes,
                             const std::vector<std::vector<Prediction>>& predictions) const {
    std::vector<Scored> scored;
    std::vector<Prediction> at(outputs());
    for (std::size_t i = 0; i < genomes.size(); ++i) {
      for (std::size_t j = 0; j < outputs(); ++j) at[j] = predictions[j][i];
      scored.push_back({std::move(genomes[i]), criterion_(at).value});
    }
    return scored;
  }

  // The logarithm of the chance that a trial does not fail: among the trials like it, each counting
  // for its correlation, the share of those that did not, one more success being imagined.
  double log_feasible(const Genome& genome) const {
    if (in_.failed.size() == 0) return 0;
    const Point x = in_.features.of(genome);
    const auto likeness = [&](const Points& points) {
      std::vector<double> k(points.size());
      likeness_.row(x, points, k);
      return std::accumulate(k.begin(), k.end(), 0.0) / likeness_.variance();
    };
    const double measured = 1 + likeness(process_.points());
    return std::log(measured / (measured + likeness(in_.failed)));
  }

  // The best of the list that are not taken, each once.
  std::vector<Scored> distinct(const std::vector<Scored>& sorted) const {
    std::vector<Scored> chosen;
    std::unordered_set<std::uint64_t> seen;
    for (const Scored& each : sorted) {
      if (chosen.size() >= 4 * kStarts) break;
      const std::uint64_t identity = in_.space.identity(each.genome);
      if (!in_.taken.contains(identity) && seen.insert(identity).second) chosen.push_back(each);
    }
    return chosen;
  }

  // The best observations; with several objectives some of the front, drawn at random.
  std::vector<std::size_t> incumbents() {
    const Observed& observed = in_.model.observed();
    if (observed.objectives > 1) {
      std::vector<Losses> losses(observed.size());
      for (std::size_t i = 0; i < observed.objectives; ++i) {
        for (std::size_t j = 0; j < losses.size(); ++j)
          losses[j].push_back(observed.outcomes[i][j]);
      }
      std::vector<std::size_t> front = nondominated(losses);
      rng_.shuffle(std::span(front));
      front.resize(std::min(front.size(), kIncumbents));
      return front;
    }
    const std::vector<double>& outcomes = observed.outcomes[0];
    std::vector<std::size_t> order(outcomes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t count = std::min(kIncumbents, order.size());
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), {},
                              [&](std::size_t i) { return outcomes[i]; });
    order.resize(count);
    return order;
  }

  // The box around the best: as wide by each number as its length scale says, with the region's
  // side as the geometric mean.
  void set_region() {
    centre_ = incumbents().front();
    const Genome& centre = in_.genomes[centre_];
    low_.assign(in_.space.size(), 0);
    high_.assign(in_.space.size(), 1);
    const std::vector<double> lengths =
        in_.features.by_domain(process_.kernel().parameters().lengths);
    double mean = 0, count = 0;
    for (double length : lengths) {
      if (length > 0) mean += std::log(length), ++count;
    }
    mean = std::exp(mean / std::max(1.0, count));
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (!(lengths[i] > 0) || !centre.is_active(i)) continue;
      const double u = in_.space.domains()[i].position_of(centre.codes()[i]);
      const double half = in_.side / 2 * lengths[i] / mean;
      low_[i] = std::clamp(u - half, 0.0, 1 - 1e-9);
      high_[i] = std::clamp(u + half, low_[i] + 1e-9, 1.0);
    }
  }

  // The best with some of its choices drawn anew, numbers within the region.
  std::vector<Genome> region_candidates() {
    const std::size_t n = process_.rows();
    const std::size_t count = std::clamp<std::size_t>(40'000'000 / (n * n + 1), 64, 500);
    const Genome& centre = in_.genomes[centre_];
    const std::vector<std::size_t> open = open_choices(centre);
    if (open.empty()) return {centre};
    const double share = std::min(1.0, kRedrawn / static_cast<double>(open.size()));
    std::vector<Genome> genomes;
    for (std::size_t k = 0; k < count; ++k) {
      std::vector<double> codes(centre.codes().begin(), centre.codes().end());
      const std::size_t sure = open[rng_.below(open.size())];
      for (std::size_t i : open) {
        const Domain& domain = in_.space.domains()[i];
        const bool is_number = low_[i] > 0 || high_[i] < 1;
        const double chance = is_number ? share : std::min(0.5, in_.side) * share;
        if (i != sure && !rng_.chance(chance)) continue;
        codes[i] = is_number ? domain.code_at(rng_.uniform(low_[i], high_[i]))
                             : in_.space.other_code(i, codes[i], rng_);
      }
      genomes.push_back(in_.space.repair(std::move(codes), rng_));
    }
    return genomes;
  }

  // Those that count and can take another value.
  std::vector<std::size_t> open_choices(const Genome& genome) const {
    const std::vector<bool> counts = in_.space.expressed(genome);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] && in_.space.domains()[i].cardinality() > 1) open.push_back(i);
    }
    return open;
  }

  std::vector<Genome> local_candidates() {
    const std::size_t n = process_.rows();
    const std::size_t each = std::clamp<std::size_t>(20'000'000 / (n * n + 1) / kIncumbents, 8, 60);
    const std::vector<std::size_t> parents = incumbents();
    std::vector<Genome> locals;
    for (std::size_t parent : parents) {
      for (std::size_t i = 0; i < each; ++i) {
        const Genome& origin = in_.genomes[parent];
        if (i % 8 == 7 && parents.size() > 1) {
          const Genome& other = in_.genomes[parents[rng_.below(parents.size())]];
          locals.push_back(in_.space.crossover(origin, other, rng_));
        } else {
          locals.push_back(perturbed(in_.space, origin, rng_));
        }
      }
    }
    return locals;
  }

  std::vector<std::size_t> continuous(const Genome& genome) const {
    std::vector<std::size_t> domains;
    for (std::size_t i = 0; i < in_.space.size(); ++i) {
      const Domain& domain = in_.space.domains()[i];
      if (genome.is_active(i) && domain.kind == DomainKind::kFloat && domain.step == 0 &&
          domain.low < domain.high)
        domains.push_back(i);
    }
    return domains;
  }

  Genome moved(const Genome& genome, std::span<const std::size_t> domains,
               std::span<const double> x) {
    std::vector<double> codes(genome.codes().begin(), genome.codes().end());
    for (std::size_t i = 0; i < domains.size(); ++i)
      codes[domains[i]] = in_.space.domains()[domains[i]].code_at(x[i]);
    return in_.space.repair(std::move(codes), rng_);
  }

  Scored climb(Scored start) {
    Scored at = climb_numbers(start);
    for (int round = 0; round < 3; ++round) {
      const Scored stepped = step_choices(at);
      if (stepped.value <= at.value) break;
      at = climb_numbers(stepped);
    }
    return at;
  }

  Scored climb_numbers(const Scored& start) {
    const std::vector<std::size_t> domains = continuous(start.genome);
    if (domains.empty()) return start;
    std::vector<double> x;
    Box box;
    for (std::size_t i : domains) {
      x.push_back(in_.space.domains()[i].position_of(start.genome.codes()[i]));
      box.low.push_back(low_.empty() ? 0 : std::min(low_[i], x.back()));
      box.high.push_back(high_.empty() ? 1 : std::max(high_[i], x.back()));
    }
    std::vector<LazyGp> nearby;
    if (process_.rows() > kMostExact) {
      for (std::size_t j = 0; j < outputs(); ++j)
        nearby.push_back(in_.model.near(j, in_.features.of(start.genome), kNear));
    }
    const auto acquired = [&](std::span<const double> u, std::span<double> gradient) {
      const Genome genome = moved(start.genome, domains, u);
      const Point point = in_.features.of(genome);
      std::vector<LazyGp::Slope> slopes;
      std::vector<Prediction> at;
      for (std::size_t j = 0; j < outputs(); ++j) {
        slopes.push_back((nearby.empty() ? in_.model.output(j) : nearby[j]).slope(point));
        at.push_back(slopes.back().at);
      }
      const GpCriterion::Value value = criterion_(at);
      std::vector<double> by_column(in_.features.number_columns(), 0);
      for (std::size_t j = 0; j < outputs(); ++j) {
        for (std::size_t i = 0; i < by_column.size(); ++i)
          by_column[i] +=
              value.by_mean[j] * slopes[j].mean[i] + value.by_variance[j] * slopes[j].variance[i];
      }
      const std::vector<double> by_position = in_.features.by_position(genome, by_column);
      for (std::size_t i = 0; i < domains.size(); ++i) gradient[i] = by_position[domains[i]];
      return value.value;
    };
    const Maximum top = maximise(acquired, x, box, {.max_evaluations = kClimb, .tolerance = 1e-4});
    Scored end{moved(start.genome, domains, top.x), top.value};
    if (!nearby.empty()) end.value = score({end.genome}).front().value;
    return end.value > start.value ? end : start;
  }

  // The best that differs in one discrete choice.
  Scored step_choices(const Scored& at) {
    std::vector<Genome> neighbours;
    const std::vector<bool> counts = in_.space.expressed(at.genome);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const Domain& domain = in_.space.domains()[i];
      if (!counts[i] || domain.cardinality() > 1e6) continue;
      for (double code : steps_of(domain, at.genome.codes()[i])) {
        std::vector<double> codes(at.genome.codes().begin(), at.genome.codes().end());
        codes[i] = code;
        Genome neighbour = in_.space.repair(std::move(codes), rng_);
        if (!is_taken(neighbour)) neighbours.push_back(std::move(neighbour));
      }
    }
    Scored best = at;
    for (Scored& each : score(std::move(neighbours))) {
      if (each.value > best.value) best = std::move(each);
    }
    return best;
  }

  // All other values of a few, the next two of an ordered many.
  static std::vector<double> steps_of(const Domain& domain, double code) {
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

  const ProposalInput& in_;
  const LazyGp& process_;  // of the first objective
  const GpCriterion criterion_;
  const Kernel likeness_;  // by which trials tell each other's chance to fail
  Rng rng_;
  std::size_t centre_ = 0;          // of the trust region: an observation
  std::vector<double> low_, high_;  // of the trust region, by domain; empty: there is none
};

}  // namespace

Genome propose(const ProposalInput& input, Rng rng) {
  return Proposal(input, rng)();
}

}  // namespace detol
