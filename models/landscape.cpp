#include "models/landscape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/clock.h"
#include "core/hash.h"
#include "core/log.h"
#include "models/retraining.h"
#include "scheduler/trial_seed.h"
#include "studies/trial_summary.h"
#include "trainer/landscape/directions.h"
#include "trainer/landscape/losses.h"
#include "trainer/landscape/path.h"
#include "trainer/trainer.h"

namespace detol::inline models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kMostPoints = 64;      // of a path
constexpr double kBetweenRowsS = 5;  // of progress
constexpr double kMargin = 0.1;      // around a path, of its extent
constexpr double kReach = 1;         // of a random direction, whose filters are as long as the own

double loss_of(const std::vector<Metric>& metrics) {
  const auto found = std::ranges::find(metrics, "val_loss", &Metric::name);
  return found != metrics.end() ? found->value : std::numeric_limits<double>::quiet_NaN();
}

// Returns what the trial reported after each whole epoch, by the newest report of it.
Result<std::map<int, event::Reported>> reports_of(const OpenStudy& study, TrialId trial) {
  DETOL_ASSIGN(const auto events, study.reader->events(study.record.id));
  std::map<int, event::Reported> reports;
  for (const Event& event : events) {
    const auto* reported = std::get_if<event::Reported>(&event);
    if (reported != nullptr && reported->trial == trial && reported->part == 0)
      reports[reported->epoch] = *reported;
  }
  return reports;
}

bool is_same(const EpochReport& now, const std::map<int, event::Reported>& before) {
  const auto found = before.find(now.epoch);
  if (found == before.end()) return false;
  return std::ranges::all_of(now.metrics, [&](const Metric& metric) {
    const auto same = std::ranges::find_if(
        found->second.metrics, [&](const auto& named) { return named.first == metric.name; });
    return same != found->second.metrics.end() &&
           (same->second == metric.value || (std::isnan(same->second) && std::isnan(metric.value)));
  });
}

// Returns the job that trained the trial.
Result<Job> job_again(const OpenStudy& study, const StudyData& shared, const TrialSummary& again) {
  const TrialId trial = again.id;
  const auto refused = [&](const std::string& why) {
    return fail(ErrorCode::kEmpty, fmt::format("trial {} {}; take another trial", trial, why));
  };
  if (again.reason.starts_with("same as trial")) return refused("was not trained: " + again.reason);
  if (again.epochs < 1) return refused("was not trained for a whole epoch");
  DETOL_ASSIGN(const auto parent, inherited_by(study, trial));
  if (parent)
    return refused(fmt::format("began with the weights of trial {}, which are gone", *parent));
  DETOL_ASSIGN(const Genome genome, genome_of(shared.config, again));
  auto candidate = shared.config.candidate(genome, shared.preprocessing.task);
  if (!candidate) return fail(ErrorCode::kEmpty, candidate.error().reason);
  DETOL_ASSIGN(const int micro_batches, micro_batches_of(study, trial));
  return Job{.trial = trial,
             .seed = trial_seed(shared.config.seed, trial),
             .candidate = *std::move(candidate),
             .genome = genome,
             .folder = {},
             .micro_batches = micro_batches};
}

// Passing: the reporter of a training that keeps the weights which it passes.
class Passing {
 public:
  Passing(const Job& job, int epochs, const std::map<int, event::Reported>& before,
          TrainedAgain& trained)
      : job_(job),
        epochs_(epochs),
        every_((epochs + kMostPoints - 1) / kMostPoints),
        before_(before),
        trained_(trained) {
    keep(initial_weights(job.candidate.network, job.seed), 0,
         std::numeric_limits<double>::quiet_NaN());
  }

  Verdict take(const EpochReport& report) {
    if (report.part > 0) return Verdict::kContinue;
    trained_.repeats = trained_.repeats && is_same(report, before_);
    log_info("trial {} again: epoch {} of {}", job_.trial, report.epoch, epochs_);
    const bool is_last = report.epoch >= epochs_;
    if (is_last || report.epoch % every_ == 0) {
      const auto checkpoint = read_checkpoint(job_.folder, report.epoch);
      if (!checkpoint) {
        trouble_ = checkpoint.error();
        return Verdict::kStop;
      }
      keep(scored_weights(checkpoint->state), report.epoch, loss_of(report.metrics));
    }
    return is_last ? Verdict::kStop : Verdict::kContinue;
  }

  const std::optional<Error>& trouble() const { return trouble_; }

 private:
  void keep(const Weights& weights, int epoch, double loss) {
    trained_.path.push_back(weights);
    trained_.epochs.push_back(epoch);
    trained_.losses.push_back(loss);
  }

  const Job& job_;
  const int epochs_, every_;
  const std::map<int, event::Reported>& before_;
  TrainedAgain& trained_;
  std::optional<Error> trouble_;
};

Result<void> train(const Job& job, const Dataset& data, const std::string& backend,
                   Passing& passing) {
  DETOL_ASSIGN(const auto trainer, make_trainer_on(data, {.backend = backend}));
  Control control;
  DETOL_ASSIGN(
      const Evaluation ended,
      trainer->evaluate(
          job, [&](const EpochReport& report, bool) { return passing.take(report); }, control));
  if (passing.trouble()) return tl::unexpected(*passing.trouble());
  if (ended.end != Evaluation::End::kFailed) return {};
  return fail(ErrorCode::kFailures, fmt::format("trial {} failed when it was trained again: {}",
                                                job.trial, ended.reason));
}

Json number_or_null(double number) {
  return std::isfinite(number) ? Json(number) : Json();
}

Json numbers(const std::vector<double>& list) {
  Json all = Json::array();
  for (const double number : list) all.push_back(number_or_null(number));
  return all;
}

// Measures the loss on a plane; says how far it has come.
Result<Json> plane(const LossOf& what, const PlaneOfWeights& directions,
                   const std::vector<double>& x, const std::vector<double>& y,
                   std::string_view name) {
  double said_s = system_clock().now_s();
  std::size_t done = 0;
  DETOL_ASSIGN(const auto losses, losses_on(what, directions, x, y, [&] {
                 ++done;
                 if (system_clock().now_s() - said_s < kBetweenRowsS) return;
                 said_s = system_clock().now_s();
                 log_info("the loss {}: {} of {} rows", name, done, y.size());
               }));
  Json rows = Json::array();
  for (const auto& row : losses) rows.push_back(numbers(row));
  return Json{{"x", numbers(x)}, {"y", numbers(y)}, {"loss", std::move(rows)}};
}

std::vector<double> axis_of(const std::vector<double>& places, int points) {
  const auto [low, high] = std::ranges::minmax(places);
  const double margin = kMargin * (high - low);
  return axis_over(low - margin, high + margin, points);
}

}  // namespace

Result<TrainedAgain> train_again(const OpenStudy& study, const StudyData& shared,
                                 const TrialSummary& trial, const std::string& backend,
                                 const fs::path& folder) {
  DETOL_ASSIGN(Job job, job_again(study, shared, trial));
  job.folder = folder;
  DETOL_ASSIGN(const auto before, reports_of(study, job.trial));
  TrainedAgain trained;
  trained.candidate = job.candidate;
  Passing passing(job, static_cast<int>(trial.epochs), before, trained);
  std::error_code ignored;
  fs::remove_all(folder, ignored);  // of a command that was killed
  const auto done = train(job, *shared.data, backend, passing);
  fs::remove_all(folder, ignored);
  if (!done) return tl::unexpected(done.error());
  return trained;
}

Result<Json> measure_landscape(const TrainedAgain& trained, const StudyData& shared,
                               const LandscapeSettings& settings) {
  const Network& network = trained.candidate.network;
  const Weights& centre = trained.path.back();
  LossOf what{network, trained.candidate.recipe, *shared.data,
              range_of(shared.data->info, DataSplit::kValidation), settings.backend};
  what.range.count = std::min<std::int64_t>(what.range.count, settings.images);
  const Rng rng = Rng(shared.config.seed).split(hash64("loss landscape"));
  const Weights first = filter_normalised_direction(network, centre, rng.split(1)),
                second = filter_normalised_direction(network, centre, rng.split(2));
  const auto axis = axis_around_zero(kReach, settings.points);
  DETOL_ASSIGN(Json random,
               plane(what, {centre, first, second}, axis, axis, "along random directions"));
  const PathPlane path = plane_of_path(network, trained.path);
  DETOL_ASSIGN(Json around,
               plane(what, {centre, path.first, path.second}, axis_of(path.x, settings.points),
                     axis_of(path.y, settings.points), "around the path"));
  around["explained"] = path.explained;
  around["points"] = {{"epoch", trained.epochs},
                      {"x", numbers(path.x)},
                      {"y", numbers(path.y)},
                      {"loss", numbers(trained.losses)}};
  return Json{{"epochs", trained.epochs.back()},
              {"images", what.range.count},
              {"loss", number_or_null(trained.losses.back())},
              {"repeats", trained.repeats},
              {"random", std::move(random)},
              {"path", std::move(around)}};
}

fs::path landscape_folder(const fs::path& artefacts) {
  return artefacts / "landscapes";
}

}  // namespace detol::inline models
