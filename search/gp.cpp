// Bayesian optimisation with a lazy Gaussian process: the next trial is the most promising one
// under a posterior over all functions that fit the measurements.
//
//   told (x, y) -> a row of the Cholesky factor        O(n^2)
//   pending trials -> fantasies, rows with the posterior mean for an outcome (kriging believer),
//     which are dropped when the outcome is told; where they are too many, most proposals are
//     Thompson samples (gp_sample_proposal.h)
//   refit -> the kernel's parameters fitted anew, as a job in the background, or in steps
//
// The first trials are Sobol points. After that an arm is drawn (gp_arms.h: everywhere, in a trust
// region, or in a restart of it elsewhere), and a proposal is made by gp_proposal.h, that of a
// restart by a model of its own (gp_restart.h).
//
// With sources (earlier studies; source_models.h) the process models what their weighted
// predictions leave over; the weights are part of a refit. If a source has weight after
// kWarmStartup trials, the startup ends there. The sources' best trials are candidates. While a
// source has weight there are no proposals in the trust region, whose samples explore what the
// source knows: NAS-Bench-201's best cell of CIFAR-100, from all of CIFAR-10, took 22.5 trials,
// with the region 56.5 (medians of 30 seeds).
//
// The posterior is a function of the trials told, in the order of their first tells, of those
// pending, and of the last refit (gp_refit.h). If the caller takes jobs (background()), it returns
// the refits through absorb(); else the searcher refits itself, always in steps after the same
// tells. Where refits come from outside, a corrected outcome only changes a number; otherwise
// everything is learned again at the next ask.
//
// A failed trial informs the chance of failure (gp_failures.h), but not the values. Constraints
// are outputs of the model (gp_criterion.h); for the arms, what breaks one is last (gp_outcomes.h).
//
// Price: O(n^2) per tell, ask and output, up to the few thousand observations that the processes
// hold (gp_model.h).

#include <map>
#include <unordered_map>

#include "core/hash.h"
#include "core/rng.h"
#include "core/table.h"
#include "search/gp_arms.h"
#include "search/gp_candidates.h"
#include "search/gp_explanation.h"
#include "search/gp_failures.h"
#include "search/gp_model.h"
#include "search/gp_options.h"
#include "search/gp_outcomes.h"
#include "search/gp_proposal.h"
#include "search/gp_refit.h"
#include "search/gp_restart.h"
#include "search/gp_sample_proposal.h"
#include "search/hill_valley.h"
#include "search/outcome_value.h"
#include "search/perturb.h"
#include "search/searchers.h"
#include "search/sobol_points.h"

namespace detol::inline search {
namespace {

constexpr std::string_view kName = "gp";
constexpr std::size_t kCandidates = 1000;  // in the whole space; their posterior is kept up to date
constexpr std::size_t kMostFantasies = 64;
constexpr double kFantasyWork = 3e8;           // multiply-adds to append all fantasies
constexpr double kThompsonShare = 0.8;         // of the proposals, where fantasies are too many
constexpr int kStartupDraws = 10;              // from which a startup point is taken
constexpr std::size_t kPendingOfARestart = 2;  // pending trials for each further restart

struct Expected {
  Genome genome;
  Point point;
};

class Gp final : public Searcher {
 public:
  Gp(Space space, const SearcherSettings& settings, GpOptions options)
      : space_(std::move(space)),
        rng_(settings.seed),
        objectives_(settings.objectives),
        options_(options),
        outputs_(settings, options.acquisition),
        startup_points_(space_.size(), settings.seed),
        features_(std::make_shared<const Features>(space_, std::nullopt)),
        model_(features_, outputs_.count(), objectives_.size(), features_->empty_points()),
        arms_(new_arms()),
        arm_losses_(outputs_.constraints()),
        refits_(kName, options_, rng_.split(hash64("refit"))) {
    const SobolPoints everywhere(space_.size(), rng_.split(hash64("candidates")).next());
    const std::size_t candidates = affordable_candidates(kCandidates, *features_);
    for (std::size_t i = 0; i < candidates; ++i)
      candidates_.push_back(space_.at(everywhere.point(i)));
    learn_from(mapped_sources(space_, settings));
    look_at(std::nullopt);
  }

  std::vector<Trial> ask(TrialId first_id, int count) override {
    catch_up();
    std::vector<Trial> trials;
    for (int i = 0; i < count; ++i) {
      const TrialId id = first_id + static_cast<TrialId>(i);
      trials.push_back(propose_for(id));
      expect(trials.back());
    }
    return trials;
  }

  void tell(const Trial& trial, const Outcome& outcome) override {
    pending_.erase(trial.id);
    taken_.insert(space_.identity(trial.genome));
    ToldTrial told{
        .trial = trial, .fidelity = fidelity_of(outcome), .outcomes = outputs_.of(outcome)};
    const auto [at, is_new] = places_.try_emplace(trial.id, told_.size());
    if (is_new || was_resumed(told_[at->second], told)) {
      at->second = told_.size();
      told_.push_back(std::move(told));
    } else {
      correct(at->second, std::move(told));
    }
    see_fidelity(told_[at->second]);
  }

  void expect(const Trial& trial) override {
    if (places_.contains(trial.id) || pending_.contains(trial.id)) return;
    taken_.insert(space_.identity(trial.genome));
    pending_.emplace(trial.id, Expected{trial.genome, features_->of(trial.genome)});
  }

  std::optional<RefitJob> background() override {
    refits_.leave_to_caller();
    catch_up();
    return refits_.job(model_, failures_->failed());
  }

  double trust_in_sources() override {
    catch_up();
    return model_.trust_in_sources();
  }

  std::optional<Explanation> explain(const Trial& trial) override {
    catch_up();
    if (model_.fitted_at() == 0) return Explanation{.model = std::string(kName)};
    model_.fantasize(fantasies());
    Points at = features_->empty_points();
    at.push_back(features_->of(trial.genome));
    Explanation explanation =
        explained(model_, options_.acquisition, at, objectives_, improved_by(rng_.split(trial.id)));
    failures_->update();
    if (failures_->is_informed()) {
      explanation.success = failures_->success(at[0]);
      explanation.acquisition += failures_->log_chance(at[0]);
    }
    return explanation;
  }

  void absorb(const Refit& refit) override { refits_.absorb(refit); }

 private:
  // Fits models of the sources, and makes their best trials candidates.
  void learn_from(std::span<const MappedSource> sources) {
    if (sources.empty()) return;
    source_models_ = std::make_shared<const SourceModels>(space_, sources, objectives_.size(),
                                                          rng_.split(hash64("models")).next());
    const std::vector<Genome> best = best_of_sources(space_, sources);
    candidates_.insert(candidates_.end(), best.begin(), best.end());
  }

  // Makes fidelity a feature once there are two; candidates are then predicted at the highest.
  void see_fidelity(const ToldTrial& told) {
    if (told.fidelity <= 0 || told.outcomes.empty()) return;
    const bool is_other = highest_ > 0 && told.fidelity != highest_;
    highest_ = std::max(highest_, told.fidelity);
    if (is_other || fidelity_) look_at(highest_);
  }

  void look_at(std::optional<double> fidelity) {
    if (candidate_points_.size() > 0 && fidelity == fidelity_) return;
    fidelity_ = fidelity;
    features_ = std::make_shared<const Features>(space_, fidelity);
    candidate_points_ = features_->empty_points();
    for (const Genome& genome : candidates_) candidate_points_.push_back(features_->of(genome));
    for (auto& [trial, expected] : pending_) expected.point = features_->of(expected.genome);
    forget();
  }

  // Corrects an outcome. Where fits come from outside only a number changes; elsewhere the fits to
  // the old number are wrong, too, and everything is learned again.
  void correct(std::size_t place, ToldTrial told) {
    const bool is_value = !told.outcomes.empty() && !told_[place].outcomes.empty() &&
                          told.fidelity == told_[place].fidelity;
    told_[place] = std::move(told);
    if (place >= learned_) return;
    if (is_value && !refits_.are_own()) {
      model_.correct(observations_[place], told_[place].outcomes);
      restart_models_.forget();
      tell_arms_again();
    } else {
      forget();
    }
  }

  // The confidence bound is for one objective, without constraints, of numbers: among categories
  // alone the expected improvement finds more (experiments/search_quality/LOG.md).
  GpArms new_arms() const {
    const bool has_numbers = std::ranges::any_of(space_.domains(), &Domain::is_numeric);
    const bool has_bound = options_.acquisition == GpAcquisition::kAuto && has_numbers &&
                           objectives_.size() == 1 && outputs_.constraints() == 0;
    return {space_, options_.region, has_bound};
  }

  void tell_arms(const ToldTrial& told) { arms_->tell(told.trial, arm_losses_(told.outcomes)); }

  void tell_arms_again() {
    arm_losses_ = ArmLosses(outputs_.constraints());
    arms_.emplace(new_arms());
    const auto all = std::span(told_).first(learned_);
    for (const ToldTrial& told : all) {
      if (!told.outcomes.empty()) arm_losses_.see(told.outcomes);
    }
    for (const ToldTrial& told : all) {
      if (!told.outcomes.empty()) tell_arms(told);
    }
  }

  void forget() {
    model_ = GpModel(features_, outputs_.count(), objectives_.size(), candidate_points_,
                     source_models_, outputs_.bounds());
    failures_.emplace(*features_);
    genomes_.clear();
    arms_.emplace(new_arms());
    arm_losses_ = ArmLosses(outputs_.constraints());
    observations_.clear();
    learned_ = 0;
    restart_models_.forget();
    refits_.forget();
  }

  void catch_up() {
    while (learned_ < told_.size()) learn(told_[learned_++]);
    refits_.use_last(model_);
  }

  void learn(const ToldTrial& told) {
    observations_.push_back(model_.size());
    failures_->tell(features_->of(told.trial.genome), told.outcomes.empty());
    if (told.outcomes.empty()) {
      refits_.advance(model_, failures_->failed());
      return;
    }
    genomes_.push_back(told.trial.genome);
    if (arm_losses_.see(told.outcomes))
      tell_arms_again();
    else
      tell_arms(told);
    model_.append(told.fidelity > 0 ? features_->of(told.trial.genome, told.fidelity)
                                    : features_->of(told.trial.genome),
                  told.outcomes);
    refits_.advance(model_, failures_->failed());
  }

  // Returns a Sobol point; where trials fail, of a few points the one that succeeds most likely.
  Genome startup_point(TrialId id) {
    Rng rng = rng_.split(id);
    Genome genome = space_.at(startup_points_.point(id));
    if (failures_->is_informed()) {
      failures_->update();
      double most = failures_->log_chance(features_->of(genome));
      for (int i = 1; i < kStartupDraws; ++i) {
        Genome other = space_.sample(rng);
        const double chance = failures_->log_chance(features_->of(other));
        if (chance <= most) continue;
        most = chance;
        genome = std::move(other);
      }
    }
    return mutated_until_unseen(space_, std::move(genome), taken_, rng);
  }

  Trial propose_for(TrialId id) {
    const bool is_startup =
        model_.size() + failures_->failed() < options_.startup && !model_.has_prior(0);
    if (is_startup || model_.fitted_at() == 0) return {id, startup_point(id), std::string(kName)};
    const std::vector<Pending> pending = fantasies();
    model_.fantasize(pending);
    failures_->update();
    const Rng rng = rng_.split(id);
    const GpArms::Next next = arms_->next(may_restart() ? start_test() : GpArms::StartTest(),
                                          1 + pending_.size() / kPendingOfARestart);
    const std::string_view arm = arm_for(next, rng.split(hash64("arm")).uniform());
    ProposalInput input{
        .space = space_,
        .features = *features_,
        .model = model_,
        .genomes = genomes_,
        .candidates = candidates_,
        .taken = taken_,
        .failures = *failures_,
        .acquisition = arm == kBoundArm ? GpAcquisition::kBound : options_.acquisition,
        .is_stalled = may_restart() && next.is_stalled,
        .improved = improved_by(rng)};
    if (arm == kRegionArm) input.side = arms_->region().side;
    TrustRegion restart;
    if (arm == kRestartArm) {
      restart = next.in_restarts[rng.split(hash64("restart")).below(next.in_restarts.size())];
      input.side = restart.side;
      input.restart.emplace(GpRestart{restart.centre, arms_->region().centre, arms_->branches()});
    }
    const bool is_crowded = pending.size() < pending_.size() && objectives_.size() == 1;
    if (is_crowded || input.side == 0) model_.update_candidates();
    if (is_crowded && rng.split(hash64("crowded")).chance(kThompsonShare))
      return {id, propose_by_sample(input, rng), std::string(kName)};
    if (arm == kRestartArm)
      return {id, propose_restart(input, pending, rng), arms_->proposer_of(restart)};
    return {id, propose(input, rng), std::string(arm)};
  }

  std::vector<std::size_t> improved_by(const Rng& rng) const {
    return objectives_to_improve(objectives_.size(), rng.split(hash64("objectives")));
  }

  Genome propose_restart(const ProposalInput& input, std::span<const Pending> pending, Rng rng) {
    const auto branch_of = [&](std::size_t i) { return arms_->branches().of(genomes_[i]); };
    const bool is_of_leader = branch_of(input.restart->centre) == branch_of(input.restart->leader);
    return is_of_leader ? restart_models_.propose(input, pending, rng) : propose(input, rng);
  }

  // Restarts need one objective, and no source that knows where the optimum is.
  bool may_restart() const { return objectives_.size() == 1 && !model_.has_prior(0); }

  // A restart begins in another basin than the leader's, and where constraints are kept, if the
  // leader keeps them.
  GpArms::StartTest start_test() const {
    return [this](std::size_t start, std::size_t leader) {
      const Observed& observed = model_.observed();
      if (observed.violation(start) > 0 && observed.violation(leader) == 0) return false;
      return !is_one_basin(space_, *features_, model_, genomes_[start], genomes_[leader]);
    };
  }

  // Returns the arm of a proposal, drawn by `u` in [0, 1). Where trials fail the global arm takes
  // the bound's share: the chance of success multiplies an improvement, not a bound.
  std::string_view arm_for(const GpArms::Next& next, double u) const {
    if (model_.has_prior(0)) return kGlobalArm;
    if (u < next.region) return kRegionArm;
    if (u < next.region + next.restart) return kRestartArm;
    const bool is_bound = u < next.region + next.restart + next.bound && !failures_->is_informed();
    return is_bound ? kBoundArm : kGlobalArm;
  }

  // Returns the trials that get fantasies: the pending ones, or the latest of them if there are
  // more than can be afforded; then at least half as many, so that not every new one drops the
  // oldest and with it all fantasies after it.
  std::vector<Pending> fantasies() const {
    const double n = static_cast<double>(std::min(model_.size(), GpModel::kMostMembers));
    const auto affordable = static_cast<std::size_t>(kFantasyWork / (n * (n + 2 * kCandidates)));
    const std::size_t half = std::clamp<std::size_t>(affordable, 2, kMostFantasies) / 2;
    const std::size_t steps = pending_.size() <= 2 * half ? 0 : (pending_.size() - half - 1) / half;
    std::vector<Pending> fantasies;
    for (const auto& [trial, expected] : pending_) fantasies.push_back({trial, &expected.point});
    fantasies.erase(fantasies.begin(),
                    fantasies.begin() + static_cast<std::ptrdiff_t>(steps * half));
    return fantasies;
  }

  const Space space_;
  const Rng rng_;
  const std::vector<Objective> objectives_;
  const GpOptions options_;
  const GpOutputs outputs_;
  const SobolPoints startup_points_;
  std::shared_ptr<const Features> features_;
  std::shared_ptr<const SourceModels> source_models_;  // nullptr: none
  double highest_ = 0;                                 // fidelity
  std::optional<double> fidelity_;  // at which candidates are predicted, if there are several

  std::vector<ToldTrial> told_;  // in the order of the first tells
  std::unordered_map<TrialId, std::size_t> places_;
  std::map<TrialId, Expected> pending_;      // in the order of their fantasies
  std::unordered_set<std::uint64_t> taken_;  // identities of what was told or expected

  // The state below is learned from told_.
  GpModel model_;
  std::vector<Genome> genomes_;  // of the model's observations
  std::optional<GpArms> arms_;   // of the same
  ArmLosses arm_losses_;
  std::optional<GpFailures> failures_;
  std::size_t learned_ = 0;                // how many of told_
  std::vector<std::size_t> observations_;  // of each learned trial; the next one's if it failed
  GpRefits refits_;
  GpRestartModels restart_models_;

  std::vector<Genome> candidates_;
  Points candidate_points_{0, 0};
};

}  // namespace

Result<std::unique_ptr<Searcher>> make_gp(const Space& space, const SearcherSettings& settings) {
  DETOL_ASSIGN(const GpOptions options, gp_options(settings.options));
  return std::make_unique<Gp>(space, settings, options);
}

}  // namespace detol::inline search
