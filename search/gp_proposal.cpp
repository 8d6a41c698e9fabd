#include "search/gp_proposal.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "surrogate/acquisition.h"
#include "surrogate/maximise.h"

namespace detol {
namespace {

constexpr std::size_t kIncumbents = 5;
constexpr std::size_t kStarts = 5;

struct Scored {
  Genome genome;
  double value;
};

class Proposal {
 public:
  Proposal(const ProposalInput& input, Rng rng)
      : in_(input), process_(input.model.output(0)), rng_(rng) {
    const std::vector<double> smoothed = process_.smoothed();
    best_ = *std::ranges::min_element(smoothed);
  }

  Genome operator()() {
    std::vector<Scored> scored = score_candidates();
    for (Scored& local : score(local_candidates())) scored.push_back(std::move(local));
    std::ranges::stable_sort(scored, std::greater<>(), &Scored::value);
    std::vector<Scored> starts = distinct(scored);
    for (std::size_t i = 0; i < std::min(kStarts, starts.size()); ++i) {
      starts.push_back(climb(starts[i]));
    }
    std::ranges::stable_sort(starts, std::greater<>(), &Scored::value);
    for (const Scored& each : starts) {
      if (!is_taken(each.genome)) return each.genome;
    }
    return fresh_draw();
  }

 private:
  bool is_taken(const Genome& genome) const {
    return in_.taken.contains(in_.space.identity(genome));
  }

  Genome fresh_draw() {
    Genome genome = in_.space.sample(rng_);
    for (int i = 0; i < 20 && is_taken(genome); ++i) genome = in_.space.sample(rng_);
    return genome;
  }

  double acquire(const Prediction& at) const {
    return log_expected_improvement(floored(at), best_).value;
  }

  Prediction floored(Prediction at) const {
    at.variance = std::max(at.variance, 1e-12 * process_.kernel().variance());
    return at;
  }

  std::vector<Scored> score_candidates() const {
    const std::vector<Prediction> predictions = process_.predict_candidates();
    std::vector<Scored> scored;
    for (std::size_t i = 0; i < predictions.size(); ++i)
      scored.push_back({in_.candidates[i], acquire(predictions[i])});
    return scored;
  }

  std::vector<Scored> score(std::vector<Genome> genomes) const {
    Points points = in_.features.none();
    for (const Genome& genome : genomes) points.push_back(in_.features.of(genome));
    const std::vector<Prediction> predictions = process_.predict(points);
    std::vector<Scored> scored;
    for (std::size_t i = 0; i < genomes.size(); ++i)
      scored.push_back({std::move(genomes[i]), acquire(predictions[i])});
    return scored;
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

  std::vector<std::size_t> incumbents() const {
    const std::vector<double>& outcomes = in_.model.observed().outcomes[0];
    std::vector<std::size_t> order(outcomes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t count = std::min(kIncumbents, order.size());
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), {},
                              [&](std::size_t i) { return outcomes[i]; });
    order.resize(count);
    return order;
  }

  std::vector<Genome> local_candidates() {
    const std::size_t n = in_.model.size();
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
          locals.push_back(perturbed(origin));
        }
      }
    }
    return locals;
  }

  // A few choices changed: numbers by a normal step of a random size, others to any value.
  Genome perturbed(const Genome& origin) {
    const std::vector<bool> counts = in_.space.expressed(origin);
    const double expected = static_cast<double>(std::ranges::count(counts, true));
    const double share =
        std::min(1.0, std::max(1.5, expected * rng_.uniform() * rng_.uniform()) / expected);
    const double size = std::pow(10, rng_.uniform(-3, -0.5));
    std::vector<double> codes(origin.codes().begin(), origin.codes().end());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      if (!counts[i] || !rng_.chance(share)) continue;
      const Domain& domain = in_.space.domains()[i];
      if (domain.cardinality() < 2) continue;
      if (domain.kind == DomainKind::kFloat && domain.step == 0) {
        const double u = domain.position_of(codes[i]) + size * rng_.normal();
        codes[i] = domain.code_at(std::clamp(u, 0.0, std::nextafter(1.0, 0.0)));
      } else {
        codes[i] = in_.space.other_code(i, codes[i], rng_);
      }
    }
    return in_.space.repair(std::move(codes), rng_);
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
      box.low.push_back(0);
      box.high.push_back(1);
    }
    const auto acquired = [&](std::span<const double> u, std::span<double> gradient) {
      const Genome genome = moved(start.genome, domains, u);
      const LazyGp::Slope slope = process_.slope(in_.features.of(genome));
      const Acquired value = log_expected_improvement(floored(slope.at), best_);
      std::vector<double> by_column(slope.mean.size());
      for (std::size_t i = 0; i < by_column.size(); ++i)
        by_column[i] = value.by_mean * slope.mean[i] + value.by_variance * slope.variance[i];
      const std::vector<double> by_position = in_.features.by_position(genome, by_column);
      for (std::size_t i = 0; i < domains.size(); ++i) gradient[i] = by_position[domains[i]];
      return value.value;
    };
    const Maximum top = maximise(acquired, x, box, {.max_evaluations = 30, .tolerance = 1e-4});
    if (!(top.value > start.value)) return start;
    return {moved(start.genome, domains, top.x), top.value};
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
  const LazyGp& process_;
  Rng rng_;
  double best_ = 0;
};

}  // namespace

Genome propose(const ProposalInput& input, Rng rng) {
  return Proposal(input, rng)();
}

}  // namespace detol
