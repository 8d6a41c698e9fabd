#include "scheduler/warm_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "core/log.h"
#include "scheduler/dataset_distances.h"

namespace detol::inline scheduler {
namespace {

constexpr std::size_t kMostSources = 5;
constexpr std::size_t kMostExamined = 40;  // reading a configuration takes about a millisecond
constexpr std::size_t kMostTrials = 500;   // of a source

using SourceTrial = event::Source::Trial;

std::set<std::string> names_of(const Space& space) {
  std::set<std::string> names;
  for (const Domain& domain : space.domains()) names.insert(domain.name);
  return names;
}

struct Fit {
  StudyRecord record;
  bool has_same_data = false;
  double distance = 0;     // of the data (dataset_distances.h); infinite: not known
  std::size_t common = 0;  // choices of the same name

  auto order() const { return std::tuple(has_same_data, common, -distance, record.created_s); }
};

// Returns the distances of all data sets from the study's; none if they are not known.
std::map<std::uint64_t, double> distances_from(Ledger& ledger, const StudyRecord& study) {
  const auto facts = ledger.facts(kDatasetFact);
  if (!facts) return {};
  return dataset_distances(*facts, study.data_fingerprint);
}

bool have_same_objectives(const StudyRecord& a, const StudyRecord& b) {
  return std::ranges::equal(a.objectives, b.objectives, [](const auto& one, const auto& other) {
    return one.metric == other.metric && one.direction == other.direction;
  });
}

// Returns the studies that have the same objectives: those on the same data first, then on the most
// similar, the latest.
Result<std::vector<Fit>> alike(Ledger& ledger, const StudyRecord& study) {
  DETOL_ASSIGN(auto records, ledger.studies());
  const auto distances = distances_from(ledger, study);
  std::vector<Fit> found;
  for (StudyRecord& record : records) {
    if (record.id == study.id || !have_same_objectives(record, study)) continue;
    const bool has_same_data = record.data_fingerprint == study.data_fingerprint;
    const auto known = distances.find(record.data_fingerprint);
    const double distance =
        known != distances.end() ? known->second : std::numeric_limits<double>::infinity();
    found.push_back({.record = std::move(record),
                     .has_same_data = has_same_data,
                     .distance = has_same_data ? 0 : distance});
  }
  std::ranges::sort(found, std::greater(), &Fit::order);
  return found;
}

// Counts the common choices of the first studies; drops those that have none, and the others. Sorts
// the rest, the best first.
void keep_usable(std::vector<Fit>& found, const StudyConfig& config) {
  if (found.size() > kMostExamined) found.resize(kMostExamined);
  const std::set<std::string> names = names_of(config.space);
  for (Fit& fit : found) {
    const auto other = load_study_config(fit.record.config, fit.record.name);
    if (!other) continue;
    for (const std::string& name : names_of(other->space)) fit.common += names.count(name);
  }
  std::erase_if(found, [](const Fit& fit) { return fit.common == 0; });
  std::ranges::sort(found, std::greater(), &Fit::order);
}

Result<std::vector<StudyRecord>> named(Ledger& ledger, const std::vector<std::string>& names) {
  std::vector<StudyRecord> records;
  for (const std::string& name : names) {
    DETOL_ASSIGN(auto record, ledger.study(name));
    records.push_back(std::move(record));
  }
  return records;
}

// Keeps the best half of kMostTrials by the first objective, and as many spread over the others.
std::vector<SourceTrial> informative(std::vector<SourceTrial> trials, Direction direction) {
  std::erase_if(trials, [](const SourceTrial& trial) {
    return trial.values.empty() || !std::isfinite(trial.values.front());
  });
  std::ranges::stable_sort(trials, [direction](const SourceTrial& a, const SourceTrial& b) {
    return is_better(direction, a.values.front(), b.values.front());
  });
  if (trials.size() <= kMostTrials) return trials;
  constexpr std::size_t kBest = kMostTrials / 2;
  const std::size_t others = trials.size() - kBest;
  for (std::size_t i = 0; i < kMostTrials - kBest; ++i)
    trials[kBest + i] = trials[kBest + i * others / (kMostTrials - kBest)];
  trials.resize(kMostTrials);
  return trials;
}

}  // namespace

Result<std::vector<event::Source>> choose_sources(Ledger& ledger, const StudyRecord& study,
                                                  const StudyConfig& config) {
  std::vector<StudyRecord> records;
  std::size_t most = kMostSources;
  if (config.warm_start.is_auto) {
    DETOL_ASSIGN(auto found, alike(ledger, study));
    keep_usable(found, config);
    for (Fit& fit : found) records.push_back(std::move(fit.record));
  } else {
    DETOL_ASSIGN(records, named(ledger, config.warm_start.studies));
    most = records.size();
  }
  std::vector<event::Source> sources;
  for (const StudyRecord& record : records) {
    if (sources.size() == most) break;
    DETOL_ASSIGN(auto trials, ledger.outcomes(record.id));
    trials = informative(std::move(trials), study.objectives.front().direction);
    if (trials.empty()) continue;
    log_info("starts from {} trials of study '{}' (search.warm_start)", trials.size(), record.name);
    sources.push_back({record.name, record.config, std::move(trials),
                       record.data_fingerprint == study.data_fingerprint});
  }
  return sources;
}

Result<std::vector<Source>> sources_of(std::span<const Event> events) {
  std::vector<Source> sources;
  for (const Event& event : events) {
    const auto* stored = std::get_if<event::Source>(&event);
    if (stored == nullptr) continue;
    DETOL_ASSIGN(const StudyConfig config, load_study_config(stored->config, stored->study));
    Source source{.name = stored->study,
                  .space = config.space,
                  .history = {},
                  .has_same_data = stored->has_same_data};
    for (const SourceTrial& trial : stored->trials) {
      DETOL_ASSIGN(Genome genome, config.space.genome(trial.params));
      source.history.emplace_back(
          std::move(genome),
          Measured{.values = trial.values, .fidelity = trial.fidelity, .work = trial.work});
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace detol::inline scheduler
