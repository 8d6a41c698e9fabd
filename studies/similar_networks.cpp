#include "studies/similar_networks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "encodings/common/layer_graph.h"
#include "surrogate/embedding.h"

namespace detol::inline studies {
namespace {

constexpr int kDepth = GraphFeatures::kLevels - 1;
constexpr std::size_t kEmbedded = 1'000;  // of the networks that are the most alike

// A network is drawn as for data of this shape, so that nobody needs the data: the drawing shows no
// width that the data decide, and what fits a smaller image fits this one.
Task drawn_task(const DataConfig& data) {
  return {.input = data.sequence ? Shape{1, 1, 4096} : Shape{3, 256, 256},
          .classes = 10,
          .kind = data.task};
}

// NetworkReader makes the graphs of a study's trials.
class NetworkReader {
 public:
  // Errors: the study's file cannot be read.
  static Result<NetworkReader> of(const StudyRecord& study) {
    NetworkReader reader;
    DETOL_ASSIGN(reader.config_, load_study_config(study.config, study.name));
    reader.config_.constraints = {};  // they count what only the data tell
    return reader;
  }

  const StudyConfig& config() const { return config_; }

  // True if both make graphs that can be compared; an encoding's own graphs show less than layers.
  bool fits(const NetworkReader& other) const {
    if (config_.has_networks() || other.config_.has_networks())
      return config_.has_networks() && other.config_.has_networks();
    return config_.space.has_graph() && config_.encoding == other.config_.encoding;
  }

  // Errors (kEmpty): there is no network.
  Result<GraphFeatures> graph(const TrialSummary& trial) const {
    DETOL_ASSIGN(const Genome genome, genome_of(config_, trial));
    if (!config_.has_networks()) {
      const auto graph = config_.space.graph(genome);
      if (!graph) return fail(ErrorCode::kEmpty, "its study scores no networks");
      return graph_features(*graph);
    }
    const auto candidate = config_.candidate(genome, drawn_task(config_.data));
    if (!candidate)
      return fail(ErrorCode::kEmpty, "it has no network: " + candidate.error().reason);
    return graph_features(layer_graph(candidate->network.nodes()));
  }

 private:
  StudyConfig config_;
};

KnownStudy known_study(const StudyRecord& study, const StudyConfig& config) {
  return {.name = study.name,
          .dataset = fmt::format("{:016x}", study.data_fingerprint),
          .data = std::filesystem::path(config.data_path()).filename().string(),
          .metric = study.objectives.front().metric};
}

ScoredNetwork scored(const TrialSummary& trial, std::size_t study) {
  return {.study = study,
          .trial = static_cast<std::int64_t>(trial.id),
          .value = trial.value,
          .arch_hash = trial.arch_hash,
          .graph = {}};
}

// Adds the best trial of each network of a study, but for the trial that was asked about.
Result<void> add_networks(const OpenStudy& study, const StudyRecord& record,
                          const NetworkReader& reader, KnownNetworks& known) {
  DETOL_ASSIGN(const auto trials,
               trials_of(*study.reader, record,
                         {.sort = "value", .top = kMostNetworks + 2, .only_scored = true}));
  const bool is_own = record.name == study.record.name;
  const std::size_t number = is_own ? 0 : known.studies.size();
  const std::int64_t asked = known.networks.front().trial;
  if (!is_own) known.studies.push_back(known_study(record, reader.config()));
  std::set<std::string> seen;
  for (const TrialSummary& one : trials) {
    if (known.networks.size() > kMostNetworks) {
      known.is_cut = true;
      break;
    }
    ScoredNetwork network = scored(one, number);
    if (!std::isfinite(network.value) || (is_own && network.trial == asked)) continue;
    if (!network.arch_hash.empty() && !seen.insert(network.arch_hash).second) continue;
    auto graph = reader.graph(one);
    if (!graph) continue;  // what was refused is similar to nothing
    network.graph = *std::move(graph);
    known.networks.push_back(std::move(network));
  }
  return {};
}

Embedding embedding_of(const KnownNetworks& known) {
  std::vector<GraphFeatures> graphs;
  std::vector<TaskScores> tasks(known.studies.size());
  for (const ScoredNetwork& network : known.networks) {
    if (&network != &known.networks.front()) {
      tasks[network.study].graphs.push_back(graphs.size());
      tasks[network.study].scores.push_back(network.value);
    }
    graphs.push_back(network.graph);
  }
  return Embedding::fitted(graphs, tasks);
}

}  // namespace

Result<KnownNetworks> known_networks(const OpenStudy& study, const std::string& id_or_best) {
  DETOL_ASSIGN(const NetworkReader asked, NetworkReader::of(study.record));
  DETOL_ASSIGN(const TrialSummary trial, trial_called(study, id_or_best));
  KnownNetworks known;
  known.studies.push_back(known_study(study.record, asked.config()));
  known.networks.push_back(scored(trial, 0));
  DETOL_ASSIGN(known.networks.front().graph, asked.graph(trial));
  DETOL_TRY(add_networks(study, study.record, asked, known));
  DETOL_ASSIGN(std::vector<StudyRecord> records, study.reader->studies());
  std::ranges::stable_sort(records, std::ranges::greater{}, &StudyRecord::created_s);
  for (const StudyRecord& record : records) {
    if (record.name == study.record.name) continue;
    if (known.networks.size() > kMostNetworks) {
      known.is_cut = true;
      break;
    }
    const auto reader = NetworkReader::of(record);
    if (!reader || !reader->fits(asked)) continue;  // one that this version cannot read, too
    DETOL_TRY(add_networks(study, record, *reader, known));
  }
  return known;
}

std::vector<Neighbour> neighbours_of(const KnownNetworks& known) {
  const GraphFeatures& asked = known.networks.front().graph;
  std::vector<Neighbour> neighbours;
  for (const ScoredNetwork& network : known.networks) {
    if (&network != &known.networks.front())
      neighbours.push_back({&network, graph_kernel(asked, network.graph, kDepth)});
  }
  std::ranges::stable_sort(neighbours, std::ranges::greater{}, &Neighbour::similarity);
  if (neighbours.size() > kEmbedded) neighbours.resize(kEmbedded);
  const Embedding embedding = embedding_of(known);
  const std::vector<double> at = embedding.of(asked);
  for (Neighbour& neighbour : neighbours)
    neighbour.distance = distance(at, embedding.of(neighbour.network->graph));
  std::ranges::stable_sort(neighbours, {}, &Neighbour::distance);
  return neighbours;
}

}  // namespace detol::inline studies
