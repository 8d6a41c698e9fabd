#include "search/gp_refit.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "core/hash.h"

namespace detol::inline search {
namespace {

constexpr std::size_t kFewest = 3;         // least observations of a fit
constexpr std::size_t kWarmStartup = 4;    // observations before the first fit, with sources
constexpr std::size_t kMostFitted = 768;   // observations that a fit uses
constexpr double kStepWork = 1e9;          // multiply-adds of a step
constexpr double kMostEvaluations = 1000;  // of a step

struct PreparedProcesses final : Refit::Prepared {
  std::vector<LazyGp> processes;
  int era = 0;
};

std::vector<LazyGp> take_processes(Refit& refit, int era) {
  const auto prepared = std::dynamic_pointer_cast<PreparedProcesses>(refit.prepared);
  refit.prepared = nullptr;
  if (prepared == nullptr || prepared->era != era) return {};
  return std::move(prepared->processes);
}

}  // namespace

SteppedRefit::SteppedRefit(RefitInput input) : in_(std::move(input)) {
  result_.fit.observations = in_.observed.size();
  result_.fit.members =
      in_.observed.chosen_members(GpModel::kMostMembers, in_.rng.split(in_.before.size()));
}

bool SteppedRefit::advance(double work) {
  const double whole = work;
  std::vector<OutputFit>& fitted = result_.fit.outputs;
  while (fitted.size() < in_.before.size()) {
    do {
      if (work <= 0 || !advance_fit(work)) return false;
    } while (!candidates_.empty());
    fitted.push_back(std::move(output_));
  }
  const double n = static_cast<double>(result_.fit.members.size());
  const double each = n * n * (n / 3 + static_cast<double>(in_.candidates.size()));
  while (result_.processes.size() < fitted.size()) {
    if (work < each && work < whole) return false;
    result_.processes.push_back(process_of(*in_.features, in_.observed, result_.fit,
                                           result_.processes.size(), in_.candidates));
    work -= each;
  }
  return true;
}

// Goes on with a fit of the next output, with the next transform, and takes what it costs from
// `work`. Returns true at its end. The next transform's fit begins where it ended.
bool SteppedRefit::advance_fit(double& work) {
  if (!stepped_) begin_fit();
  const double most = std::clamp(work / evaluation_work_, 1.0, kMostEvaluations);
  const bool has_ended = stepped_->advance(static_cast<int>(most));
  const FitResult now = stepped_->result();
  work -= (now.evaluations - std::exchange(evaluations_, now.evaluations)) * evaluation_work_;
  if (!has_ended) return false;
  stepped_.reset();
  OutputFit& tried = candidates_.front();
  tried.kernel = now.parameters;
  const double evidence = log_evidence(in_.observed, result_.fit.outputs.size(), tried.transform,
                                       now.log_posterior, chosen_);
  if (evidence > evidence_) {
    evidence_ = evidence;
    output_ = std::move(tried);
  }
  candidates_.erase(candidates_.begin());
  if (!candidates_.empty()) candidates_.front().kernel = now.parameters;
  return true;
}

void SteppedRefit::begin_fit() {
  const std::size_t output = result_.fit.outputs.size();
  const Observed& observed = in_.observed;
  if (candidates_.empty()) begin_output();
  const OutputFit& candidate = candidates_.front();
  stepped_.emplace(*in_.features, points_of(*in_.features, observed.points, chosen_),
                   residuals(observed, output, candidate, chosen_), candidate.kernel);
  const double n = static_cast<double>(chosen_.size());
  evaluation_work_ = n * n * n;
  evaluations_ = 0;
}

void SteppedRefit::begin_output() {
  const std::size_t output = result_.fit.outputs.size();
  const Observed& observed = in_.observed;
  const std::vector<double>& outcomes = observed.outcomes[output];
  const Rng rng = in_.rng.split(output);
  chosen_ = observed.chosen_for_fit(output, kMostFitted, rng);
  evidence_ = -std::numeric_limits<double>::infinity();
  for (const OutcomeTransform& transform : transforms_for(*in_.features, observed, output))
    candidates_.push_back(
        {.kernel = in_.before[output].kernel, .transform = transform, .weights = {}});
  if (output < observed.objectives && observed.sources > 0) {
    std::vector<double> y;
    for (double outcome : outcomes) y.push_back(candidates_.front().transform(outcome));
    candidates_.front().weights =
        source_weights(y, observed.means[output], observed.sources, rng.split(hash64("weights")));
  }
  output_ = candidates_.front();
}

namespace {

RefitJob refit_job(RefitInput input) {
  return [in = std::move(input)] {
    SteppedRefit stepped(in);
    while (!stepped.advance(std::numeric_limits<double>::max())) {
    }
    SteppedRefit::Refitted result = stepped.take();
    auto prepared = std::make_shared<PreparedProcesses>();
    prepared->processes = std::move(result.processes);
    prepared->era = in.era;
    return Refit{.model = std::string(in.model),
                 .version = in.version,
                 .observations = result.fit.observations,
                 .parameters = to_numbers(result.fit),
                 .prepared = std::move(prepared)};
  };
}

}  // namespace

void GpRefits::advance(GpModel& model, std::size_t failed) {
  if (!are_own_) return;
  if (!stepped_ && is_due(model, failed)) stepped_.emplace(input(model));
  if (!stepped_ || !stepped_->advance(kStepWork)) return;
  auto [fit, processes] = stepped_->take();
  model.use(std::move(fit), std::move(processes));
  stepped_.reset();
  ++version_;
}

void GpRefits::leave_to_caller() {
  are_own_ = false;
  stepped_.reset();
}

std::optional<RefitJob> GpRefits::job(GpModel& model, std::size_t failed) {
  if (is_job_out_ || !is_due(model, failed)) return std::nullopt;
  is_job_out_ = true;
  return refit_job(input(model));
}

void GpRefits::absorb(const Refit& refit) {
  if (refit.model != name_) return;
  leave_to_caller();
  is_job_out_ = false;
  version_ = refit.version;
  last_ = refit;
  is_last_used_ = false;
}

void GpRefits::use_last(GpModel& model) {
  const std::size_t n = last_.observations;
  if (is_last_used_ || n == 0 || n > model.size()) return;
  is_last_used_ = true;
  auto processes = take_processes(last_, era_);
  auto fit = fit_from(last_.parameters, *model.features(), model.observed(), n);
  if (fit) model.use(*std::move(fit), std::move(processes));
}

void GpRefits::forget() {
  ++era_;
  is_last_used_ = false;
  stepped_.reset();
  if (are_own_) version_ = 0;
}

bool GpRefits::is_due(GpModel& model, std::size_t failed) const {
  const std::size_t n = model.size(), before = model.fitted_at();
  const std::size_t startup =
      model.observed().sources > 0 ? std::min(options_.startup, kWarmStartup) : options_.startup;
  if (n < std::max(startup - std::min(startup, failed), kFewest)) return false;
  if (before == 0) return true;
  if (n < before + 2) return false;
  if (static_cast<double>(n) >= options_.growth * static_cast<double>(before)) return true;
  if (n >= before + GpModel::kMostAppended / 2) return true;
  return n >= before + 3 && model.surprise() > options_.surprise;
}

RefitInput GpRefits::input(const GpModel& model) const {
  return {.model = name_,
          .version = version_ + 1,
          .era = era_,
          .features = model.features(),
          .observed = model.observed(),
          .before = model.fits(),
          .candidates = model.candidates(),
          .rng = rng_.split(version_ + 1)};
}

}  // namespace detol::inline search
