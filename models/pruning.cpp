#include "models/pruning.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/file.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/table.h"
#include "export/architecture_text.h"
#include "models/child_trainings.h"
#include "models/model_network.h"
#include "scheduler/launchers/gpus.h"
#include "trainer/latency.h"
#include "trainer/predict.h"
#include "trainer/pruning/prune.h"
#include "trainer/trainer.h"

namespace detol::inline models {
namespace {

namespace fs = std::filesystem;

constexpr const char* kArchitectureFile = "architecture.json";  // beside the checkpoints
constexpr int kLanes = 8;  // channels that the kernels of a CPU and a GPU compute together

struct QuantityRow {
  std::string_view name;
  PrunedQuantity quantity;
};
constexpr std::array kQuantities = {QuantityRow{"params", PrunedQuantity::kParams},
                                    QuantityRow{"flops", PrunedQuantity::kFlops},
                                    QuantityRow{"latency", PrunedQuantity::kLatency}};

std::string_view name_of(PrunedQuantity quantity) {
  return kQuantities[static_cast<std::size_t>(quantity)].name;
}

// Selection: prunes the parent, in the process that may run networks.
class Selection {
 public:
  Selection(const TrainedNetwork& parent, const PruningTerms& terms, const Retraining& work,
            Control& control)
      : parent_(parent), terms_(terms), work_(work), control_(control) {}

  // Writes the architecture, and then the checkpoint of epoch 0.
  Result<void> write(const event::Model& model) {
    const Network& network = parent_.candidate.network;
    const Weights& weights = best_weights(parent_.checkpoint);
    const ChannelClasses classes = channel_classes(network);
    const TrainedOn trained{*work_.shared.data, work_.candidate.recipe, work_.run.backend};
    DETOL_ASSIGN(const auto importance,
                 terms_.importance->measure(network, weights, classes, trained));
    DETOL_ASSIGN(const double before, cost(network));
    const PruningTarget target{.cost = [this](const Network& one) { return cost(one); },
                               .limit = terms_.fraction * before,
                               .multiple = is_timed() ? kLanes : 1};
    DETOL_ASSIGN(const std::vector<bool> removed,
                 channels_to_remove(network, classes, importance, target));
    DETOL_ASSIGN(const Network left, without_channels(network, classes, removed));
    DETOL_ASSIGN(const double after, cost(left));
    log_info("pruned to {:.3g} of its {} ({:.4g} of {:.4g})", after / before,
             name_of(terms_.quantity), after, before);
    return begin(model, left, weights_without(network, weights, classes, removed));
  }

 private:
  bool is_timed() const { return terms_.quantity == PrunedQuantity::kLatency; }

  Result<double> cost(const Network& network) {
    if (is_timed()) {
      DETOL_ASSIGN(const BackendRow* backend, backend_called(work_.run.backend));
      return shortest_latency_s(network, *backend, work_.shared.data->info.task.kind,
                                terms_.latency_batch, [this] { control_.progress.fetch_add(1); });
    }
    control_.progress.fetch_add(1);
    DETOL_ASSIGN(const Cost cost, cost_of(network));
    return static_cast<double>(terms_.quantity == PrunedQuantity::kParams ? cost.params
                                                                          : cost.flops);
  }

  Result<void> begin(const event::Model& model, const Network& network,
                     const Weights& weights) const {
    Job job = job_of(work_, model);
    DETOL_ASSIGN(StoredNetwork stored, stored_network(job.candidate, network, weights));
    job.candidate = std::move(stored.candidate);
    DETOL_TRY(make_folder_of(job));
    remove_checkpoints(job.folder, 0);
    DETOL_TRY(write_file_durably(job.folder / kArchitectureFile, stored.architecture));
    Checkpoint checkpoint;
    checkpoint.arch_hash = job.candidate.arch_hash;
    checkpoint.state.weights = std::move(stored.weights);
    return begin_at(std::move(checkpoint), job, *work_.shared.data, work_.run.backend);
  }

  static Result<void> make_folder_of(const Job& job) {
    std::error_code error;
    fs::create_directories(job.folder, error);
    if (!error) return {};
    return fail(ErrorCode::kStorage,
                fmt::format("cannot make {}: {}", job.folder.string(), error.message()));
  }

  const TrainedNetwork& parent_;
  const PruningTerms& terms_;
  const Retraining& work_;
  Control& control_;
};

// Runs the selection in a child. Returns false if a signal stopped it.
Result<bool> select_in_child(const TrainedNetwork& parent, const PruningTerms& terms,
                             const Retraining& work, const event::Model& model) {
  const ChildTraining selection = [&](int place, const Reporter&,
                                      Control& control) -> Result<Evaluation> {
    select_gpus(work.run.gpus, place);
    DETOL_TRY(Selection(parent, terms, work, control).write(model));
    return Evaluation{.end = Evaluation::End::kFinished, .reason = {}};
  };
  DETOL_ASSIGN(const auto ends,
               train_in_children({.trainings = {&selection, 1}, .on_report = [](auto, auto&) {}}));
  if (ends.front().end == Evaluation::End::kFailed)
    return fail(ErrorCode::kFailures,
                fmt::format("trial {} could not be pruned: {}", work.trial, ends.front().reason));
  return ends.front().end == Evaluation::End::kFinished;
}

}  // namespace

Result<PruningTerms> pruning_terms_from(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  for (const QuantityRow& row : kQuantities) {
    if (row.name != name || equals == std::string::npos) continue;
    PruningTerms terms{.quantity = row.quantity};
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + equals + 1, end, terms.fraction);
    if (error == std::errc() && rest == end && terms.fraction > 0 && terms.fraction < 1)
      return terms;
  }
  return fail(ErrorCode::kUsage,
              fmt::format("to is {}; it must be params, flops or latency, and a fraction between "
                          "0 and 1: flops=0.5",
                          in_quotes(text)));
}

std::string settings_of(const PruningTerms& terms) {
  nlohmann::ordered_json settings = {{"to", name_of(terms.quantity)},
                                     {"fraction", terms.fraction},
                                     {"importance", terms.importance->name}};
  if (terms.quantity == PrunedQuantity::kLatency) settings["batch"] = terms.latency_batch;
  return compact(settings);
}

Result<bool> prune_for(const TrainedNetwork& parent, const PruningTerms& terms, Retraining& work,
                       event::Model& model) {
  const fs::path folder = folder_of(work, model);
  DETOL_ASSIGN(auto found, newest_checkpoint(folder, job_of(work, model).attempt));
  if (model.architecture.empty() || !found) {
    DETOL_ASSIGN(const bool is_done, select_in_child(parent, terms, work, model));
    if (!is_done) return false;
    DETOL_ASSIGN(model.architecture, read_file(folder / kArchitectureFile));
  }
  DETOL_ASSIGN(Network network, network_from_text(model.architecture));
  DETOL_ASSIGN(work.candidate, with_network(std::move(work.candidate), std::move(network)));
  model.network_params = work.candidate.cost.params;
  model.flops = work.candidate.cost.flops;
  return true;
}

}  // namespace detol::inline models
