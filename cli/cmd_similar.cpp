#include "cli/commands.h"
#include "core/log.h"
#include "studies/similar_networks.h"

namespace detol::inline cli {
namespace {

constexpr std::int64_t kShown = 10;

Result<int> run_similar(const Arguments& arguments) {
  DETOL_ASSIGN(const auto top, arguments.number("top", 1));
  DETOL_ASSIGN(const OpenStudy study, open_study_of(arguments));
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
