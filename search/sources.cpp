#include "search/sources.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_set>

#include "core/hash.h"
#include "core/rng.h"
#include "search/outcome_value.h"

namespace detol::inline search {
namespace {

constexpr std::size_t kMostOfSources = 600;  // of their best trials

std::optional<double> number_in(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

// Returns the code of a value, or of the nearest number; nullopt if the domain has none like it.
std::optional<double> nearest_code(const Domain& domain, const Value& value) {
  if (const auto code = domain.code_of(value)) return code;
  const std::optional<double> number = number_in(value);
  if (!domain.is_numeric() || !number || !std::isfinite(*number)) return std::nullopt;
  const double clamped = std::clamp(*number, domain.low, domain.high);
  if (domain.step <= 0) return clamped;
  return domain.code_at(std::min(domain.position_of(clamped), std::nextafter(1.0, 0.0)));
}

class SourceMapper {
 public:
  SourceMapper(const Space& space, const Source& source) : space_(space), shared_(space.size()) {
    for (std::size_t i = 0; i < space.size(); ++i) {
      positions_.push_back(source.space.index_of(space.domains()[i].name));
      shared_[i] = positions_.back().has_value();
      is_usable_ = is_usable_ || (shared_[i] && space.domains()[i].cardinality() > 1);
    }
  }

  bool is_usable() const { return is_usable_; }
  const std::vector<bool>& shared() const { return shared_; }

  // Returns nullopt for a trial with a category that the space lacks.
  std::optional<Genome> operator()(const Genome& genome, Rng rng) const {
    std::vector<double> codes(space_.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      if (!positions_[i] || !genome.is_active(*positions_[i])) continue;
      const auto code = nearest_code(space_.domains()[i], genome.value(*positions_[i]));
      if (!code) return std::nullopt;
      codes[i] = *code;
    }
    return space_.repair(std::move(codes), rng);
  }

 private:
  const Space& space_;
  std::vector<bool> shared_;
  std::vector<std::optional<std::size_t>> positions_;  // in the source's space
  bool is_usable_ = false;
};

bool has_different_losses(const std::vector<SourceTrial>& trials) {
  return trials.front().losses.front() < trials.back().losses.front();
}

}  // namespace

std::vector<MappedSource> mapped_sources(const Space& space, const SearcherSettings& settings) {
  std::vector<MappedSource> sources;
  const Rng rng = Rng(settings.seed).split(hash64("sources"));
  for (const Source& source : settings.sources) {
    const SourceMapper mapper(space, source);
    if (!mapper.is_usable()) continue;
    MappedSource mapped{
        .shared = mapper.shared(), .trials = {}, .has_same_data = source.has_same_data};
    for (std::size_t i = 0; i < source.history.size(); ++i) {
      const auto& [genome, outcome] = source.history[i];
      Losses losses = losses_of(outcome, settings.objectives);
      if (losses.empty() || !std::ranges::all_of(losses, [](double x) { return std::isfinite(x); }))
        continue;
      if (auto in_space = mapper(genome, rng.split(i)))
        mapped.trials.push_back({*std::move(in_space), std::move(losses)});
    }
    std::ranges::stable_sort(mapped.trials, {},
                             [](const SourceTrial& trial) { return trial.losses.front(); });
    if (mapped.trials.size() >= kLeastSourceTrials && has_different_losses(mapped.trials))
      sources.push_back(std::move(mapped));
  }
  return sources;
}

std::vector<Genome> best_of_sources(const Space& space, std::span<const MappedSource> sources) {
  std::vector<Genome> best;
  std::unordered_set<std::uint64_t> known;
  std::size_t most = 0;
  for (const MappedSource& source : sources) most = std::max(most, source.trials.size());
  for (std::size_t i = 0; i < most; ++i) {
    for (const MappedSource& source : sources) {
      if (best.size() >= kMostOfSources || i >= source.trials.size()) continue;
      const Genome& genome = source.trials[i].genome;
      if (known.insert(space.identity(genome)).second) best.push_back(genome);
    }
  }
  return best;
}

}  // namespace detol::inline search
