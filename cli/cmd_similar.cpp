// `similar` lists the networks of the base that are nearest to a trial's. The embedding that
// measures distances is trained on the base itself: the scores of all its studies.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/commands.h"
#include "core/log.h"
#include "printing/output.h"
#include "studies/similar_networks.h"
#include "surrogate/embedding.h"

namespace detol::inline cli {
namespace {

constexpr std::int64_t kShown = 10;
constexpr int kDepth = GraphFeatures::kLevels - 1;
constexpr std::size_t kEmbedded = 1'000;  // of the networks that are the most alike

// Neighbour is a network of the list, by its distance from that of the trial.
struct Neighbour {
  const ScoredNetwork* network = nullptr;
  double similarity = 0;  // the Weisfeiler-Lehman kernel, 0 to 1
  double distance = 0;    // of the embedding
};

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

// Returns the networks that are the most alike by the kernel, the nearest by the embedding first.
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

Result<int> run_similar(const Arguments& arguments) {
  DETOL_ASSIGN(const auto top, arguments.number("top", 1));
  DETOL_ASSIGN(const OpenStudy study,
               open_study(arguments.globals.storage, arguments.text("STUDY")));
  DETOL_ASSIGN(const KnownNetworks known, known_networks(study, arguments.text("ID")));
  Rows rows{.columns = {"distance", "similarity", "study", "trial", "dataset", "data", "metric",
                        "value", "arch_hash"},
            .rows = {}};
  for (const Neighbour& neighbour : neighbours_of(known)) {
    if (static_cast<std::int64_t>(rows.rows.size()) == top.value_or(kShown)) break;
    const ScoredNetwork& network = *neighbour.network;
    const KnownStudy& of = known.studies[network.study];
    rows.rows.push_back({neighbour.distance, neighbour.similarity, of.name, network.trial,
                         of.dataset, of.data, of.metric, network.value,
                         network.arch_hash.empty() ? Cell() : Cell(network.arch_hash)});
  }
  if (rows.rows.empty())
    return fail(ErrorCode::kEmpty, "no other network of this knowledge base has a score yet");
  DETOL_TRY(print_rows(rows, arguments.globals));
  if (known.is_cut)
    log_info("compared with {} networks: the best of the newest studies", kMostNetworks);
  return 0;
}

std::string similar_notes() {
  return "Each line is a network of a study, by its best trial there. `distance` is that of an\n"
         "embedding which is learned from the scores of all studies of the base, so that networks "
         "that\n"
         "score alike are near each other; `similarity`, from 0 to 1, is that of their layers and "
         "of what\n"
         "surrounds these (Weisfeiler-Lehman kernel). Studies of a table are compared with those "
         "of the\n"
         "same encoding, others by their layers.";
}

}  // namespace

Command similar_command() {
  return {.name = "similar",
          .summary = "list the networks of the base that are most like a trial's",
          .options = {{"STUDY", "", "its name (detol studies)", Option::kRequired},
                      {"ID", "", "the trial's number, or best", Option::kRequired},
                      {"--top", "N", "so many networks; default 10"}},
          .examples =
              "  detol similar fashion-cnn best\n"
              "  detol similar fashion-cnn 12 --top 50 -f json",
          .run = run_similar,
          .notes = similar_notes};
}

}  // namespace detol::inline cli
