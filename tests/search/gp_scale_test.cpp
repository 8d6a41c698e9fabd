// Tests of the searcher `gp` with many observations and many pending trials: its limits, and that a
// replay restores it.

#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "search/gp_model.h"
#include "search/gp_refit.h"
#include "search/searcher.h"

namespace detol {
namespace {

Space square() {
  return SpaceBuilder().add_float("x", 0, 1).add_float("y", 0, 1).build().value();
}

double value_of(const Genome& genome) {
  const double x = genome.number("x") - 0.3, y = genome.number("y") - 0.8;
  return x * x + y * y + 0.1 * x * y;
}

std::unique_ptr<Searcher> make(const Space& space, std::string_view startup = "8") {
  return make_searcher("gp", space,
                       {.seed = 3,
                        .objectives = {minimize("loss")},
                        .options = {{"startup", std::string(startup)}}})
      .value();
}

void tell(Searcher& searcher, const Trial& trial) {
  searcher.tell(trial, Measured{.values = {value_of(trial.genome)}});
}

std::vector<Trial> random_trials(const Space& space, TrialId first, int count) {
  std::vector<Trial> trials;
  for (int i = 0; i < count; ++i) {
    const TrialId id = first + static_cast<TrialId>(i);
    Rng rng = Rng(11).split(id);
    trials.push_back({id, space.sample(rng)});
  }
  return trials;
}

// A model with `count` observations, and a fit that uses every third of them.
struct Told {
  std::shared_ptr<const Features> features = std::make_shared<const Features>(square());
  GpModel model{features, 1, 1, features->empty_points()};

  explicit Told(int count) {
    for (const Trial& trial : random_trials(square(), 0, count))
      model.append(features->of(trial.genome), std::vector<double>{value_of(trial.genome)});
  }

  ModelFit fit_of_every_third() const {
    ModelFit fit{.outputs = model.fits(), .observations = model.size(), .members = {}};
    for (std::size_t i = 0; i < model.size(); i += 3) fit.members.push_back(i);
    return fit;
  }
};

TEST(GpModel, ItsProcessesAreBoundedHoweverLateARefitIs) {
  Told told(400);
  told.model.use(told.fit_of_every_third());
  const std::size_t members = told.fit_of_every_third().members.size();
  for (const Trial& trial : random_trials(square(), 400, 3000))
    told.model.append(told.features->of(trial.genome), std::vector<double>{0.5});
  told.model.fantasize({});
  EXPECT_EQ(told.model.output(0).observations(), members + GpModel::kMostAppended);
}

TEST(GpModel, AFitWithMembersSurvivesTheLedger) {
  const Told told(1030);
  const Observed& observed = told.model.observed();
  const ModelFit fit{.outputs = told.model.fits(),
                     .observations = 1030,
                     .members = observed.chosen_members(GpModel::kMostMembers, Rng(1))};
  ASSERT_EQ(fit.members.back(), 1029);
  std::vector<double> numbers = to_numbers(fit);
  const auto back = fit_from(numbers, *told.features, observed, 1030);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->members, fit.members);
  EXPECT_EQ(to_numbers(*back), numbers);
  EXPECT_FALSE(fit_from(numbers, *told.features, observed, 1029));  // member 1029 does not exist
  numbers.erase(numbers.begin());
  EXPECT_FALSE(fit_from(numbers, *told.features, observed, 1030));  // of fewer parameters
}

TEST(GpModel, AModelOfOneNeighbourhoodKnowsWhatTheProcessesLeaveOut) {
  Told told(60);
  told.model.use(told.fit_of_every_third());
  told.model.fantasize({});
  const LazyGp near = told.model.near(0, told.model.observed().points[1], 1);
  EXPECT_EQ(near.points()[0].numbers, told.model.observed().points[1].numbers);
}

TEST(GpModel, ExpectsOfAPendingTrialItsPrediction) {
  Told told(30);
  told.model.use(told.fit_of_every_third());
  told.model.fantasize({});
  const Point running = told.features->of(random_trials(square(), 30, 1)[0].genome);
  const Prediction before = told.model.output(0).predict(running);
  const std::vector<Pending> pending = {{.key = 30, .point = &running}};
  told.model.fantasize(pending);
  const Prediction after = told.model.output(0).predict(running);
  EXPECT_NEAR(after.mean, before.mean, 1e-9);
  EXPECT_LT(after.variance, before.variance / 2);
}

TEST(GpModel, FantasiesAreThoseOfTheLastFit) {
  Told told(40), fresh(40);
  const Point running = told.features->of(random_trials(square(), 40, 1)[0].genome);
  const std::vector<Pending> pending = {{.key = 40, .point = &running}};
  ModelFit fit = told.fit_of_every_third();
  told.model.use(fit);
  told.model.fantasize(pending);
  for (double& length : fit.outputs[0].kernel.lengths) length /= 2;
  told.model.use(fit);
  told.model.fantasize(pending);
  fresh.model.use(fit);
  fresh.model.fantasize(pending);
  EXPECT_EQ(told.model.output(0).predict(running).variance,
            fresh.model.output(0).predict(running).variance);
}

TEST(GpModel, FantasiesDoNotDependOnWhichCameFirst) {
  Told told(30);
  told.model.use(told.fit_of_every_third());
  const std::vector<Trial> trials = random_trials(square(), 30, 6);
  std::vector<Point> points;
  for (const Trial& trial : trials) points.push_back(told.features->of(trial.genome));
  std::vector<Pending> pending;
  for (std::size_t i = 0; i < points.size(); ++i) pending.push_back({i, &points[i]});
  told.model.fantasize(pending);
  const Prediction once = told.model.output(0).predict(points[5]);
  told.model.fantasize(std::span(pending).subspan(2));
  told.model.fantasize(std::span(pending).first(3));
  told.model.fantasize(pending);
  const Prediction again = told.model.output(0).predict(points[5]);
  EXPECT_EQ(again.mean, once.mean);
  EXPECT_EQ(again.variance, once.variance);
}

GpOptions options() {
  return gp_options({}).value();
}

TEST(GpRefits, ASmallRefitEndsWithTheTellThatItIsDueAt) {
  Told told(20);
  const GpOptions usual = options();
  GpRefits refits("gp", usual, Rng(1));
  refits.advance(told.model);
  EXPECT_EQ(told.model.fitted_at(), 20u);
}

// Of the exponential of a smooth function the logarithm above the least is smooth; of the negative
// one that of what is below the mean.
TEST(GpRefits, ChooseTheTransformThatMakesTheFunctionSmooth) {
  using Origin = OutcomeTransform::Origin;
  for (const Origin origin : {Origin::kMean, Origin::kLeast}) {
    const auto features = std::make_shared<const Features>(square());
    GpModel model(features, 1, 1, features->empty_points());
    std::vector<double> outcomes;
    for (const Trial& trial : random_trials(square(), 0, 60)) {
      const double smooth = std::sin(5 * value_of(trial.genome));
      outcomes.push_back(origin == Origin::kMean ? -std::exp(-6 * smooth) : std::exp(6 * smooth));
      model.append(features->of(trial.genome), std::vector{outcomes.back()});
    }
    const GpOptions usual = options();
    GpRefits refits("gp", usual, Rng(1));
    while (model.fitted_at() == 0) refits.advance(model);
    EXPECT_EQ(model.fits()[0].transform.to_numbers(),
              OutcomeTransform::fitted(outcomes, origin).to_numbers());
  }
}

// Of networks alone half of the power is kept: an exponent nearer to 1 than the likeliest one.
TEST(GpRefits, TransformByHalfOfThePowerWhereThereAreNetworksAndNoNumbers) {
  using Power = OutcomeTransform::Power;
  const auto graph = [](std::span<const double> codes) {
    return LabelledGraph{.labels = {static_cast<std::uint64_t>(codes[0])}, .edges = {}};
  };
  const Space choices = SpaceBuilder().add_bool("a").add_bool("b").build().value();
  const Space networks = choices.with_graph(graph);
  std::vector<double> outcomes;
  for (int i = 0; i < 20; ++i) outcomes.push_back(std::exp(0.3 * i));
  for (const auto& [space, power] : {std::pair(networks, Power::kHalf),
                                     {choices, Power::kLikeliest},
                                     {square().with_graph(graph), Power::kLikeliest}}) {
    const Features features(space);
    const Observed observed{features.empty_points(), {outcomes}, 1};
    const auto transforms = transforms_for(features, observed, 0);
    ASSERT_EQ(transforms.size(), 2u);
    EXPECT_EQ(
        transforms[0].to_numbers(),
        OutcomeTransform::fitted(outcomes, OutcomeTransform::Origin::kMean, power).to_numbers());
  }
}

TEST(GpRefits, ALargeRefitTakesSomeTellsAndKnowsWhatWasToldBeforeIt) {
  Told told(500);
  const GpOptions usual = options();
  GpRefits refits("gp", usual, Rng(1));
  int steps = 0;
  for (const Trial& trial : random_trials(square(), 500, 50)) {
    if (told.model.fitted_at() > 0) break;
    refits.advance(told.model);
    ++steps;
    told.model.append(told.features->of(trial.genome), std::vector<double>{value_of(trial.genome)});
  }
  EXPECT_EQ(told.model.fitted_at(), 500u);
  EXPECT_GT(steps, 1);
  EXPECT_LT(steps, 20);
}

TEST(GpRefits, OfTheCallerAreTheSameAsItsOwn) {
  Told own(300), callers(300);
  const GpOptions usual = options();
  GpRefits in_steps("gp", usual, Rng(1)), as_jobs("gp", usual, Rng(1));
  while (own.model.fitted_at() == 0) in_steps.advance(own.model);
  as_jobs.leave_to_caller();
  as_jobs.absorb((*as_jobs.job(callers.model))());
  as_jobs.use_last(callers.model);
  own.model.fantasize({});
  callers.model.fantasize({});
  EXPECT_EQ(own.model.fits()[0].kernel, callers.model.fits()[0].kernel);
  EXPECT_EQ(own.model.output(0).log_likelihood(), callers.model.output(0).log_likelihood());
}

// 500 observations are too many for a refit in one step.
TEST(GpScale, ItsOwnRefitsFollowTheSameTellsHoweverItIsAsked) {
  const Space space = square();
  const auto batch = make(space, "500"), singly = make(space, "500"),
             corrected = make(space, "500");
  const std::vector<Trial> trials = random_trials(space, 0, 520);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    for (Searcher* searcher : {batch.get(), singly.get()}) tell(*searcher, trials[i]);
    corrected->tell(trials[i], Measured{.values = {i == 3 ? 7 : value_of(trials[i].genome)}});
    for (Searcher* searcher : {singly.get(), corrected.get()}) (void)searcher->trust_in_sources();
    if (i == 501) tell(*corrected, trials[3]);  // its refit goes on
  }
  const Genome proposed = batch->ask(1000, 1)[0].genome;
  EXPECT_EQ(singly->ask(1000, 1)[0].genome, proposed);
  EXPECT_EQ(corrected->ask(1000, 1)[0].genome, proposed);
}

TEST(GpScale, AReplayOfThreeThousandTrialsAndARefitProposesTheSame) {
  const Space space = square();
  const auto live = make(space), replayed = make(space);
  const std::vector<Trial> before = random_trials(space, 0, 3000),
                           after = random_trials(space, 3000, 20);
  for (const Trial& trial : before) tell(*live, trial);
  Refit refit = (*live->background())();
  EXPECT_LE(refit.parameters.size(), GpModel::kMostMembers + 20);
  live->absorb(refit);
  const Trial pending = live->ask(3020, 1)[0];
  for (const Trial& trial : after) tell(*live, trial);

  refit.prepared = nullptr;
  for (const Trial& trial : before) tell(*replayed, trial);
  replayed->absorb(refit);
  replayed->expect(pending);
  for (const Trial& trial : after) tell(*replayed, trial);
  EXPECT_EQ(live->ask(3021, 1)[0].genome, replayed->ask(3021, 1)[0].genome);
}

// A search that stalls: its restarts have a fit of their own, which a correction makes anew.
TEST(GpScale, RestartsProposeByCorrectedOutcomesWhetherTheyBeganBeforeOrNot) {
  const Space space = square();
  const auto asked = make(space), quiet = make(space);
  std::vector<Trial> trials = random_trials(space, 0, 40);
  trials.push_back({40, space.at(std::vector{0.3, 0.8}), "gp region"});
  for (TrialId id = 41; id < 61; ++id)
    trials.push_back({id, space.at(std::vector{0.3 + 1e-4 * double(id), 0.8}), "gp region"});
  for (Searcher* searcher : {asked.get(), quiet.get()}) {
    searcher->background();
    for (const Trial& trial : trials) {
      const double x = trial.genome.number("x");
      const double value = x > 0.6 ? 0.1 + (x - 0.9) * (x - 0.9) : value_of(trial.genome);
      searcher->tell(trial, Measured{.values = {value}});
    }
    searcher->absorb((*searcher->background())());
  }
  for (const Trial& trial : asked->ask(100, 10)) quiet->expect(trial);
  for (TrialId id = 0; id < 12; ++id) {
    for (Searcher* searcher : {asked.get(), quiet.get()})
      searcher->tell(trials[id], Measured{.values = {0.2 + 0.3 * double(id % 4)}});
  }
  int restarts = 0;
  for (TrialId id = 200; id < 220; ++id) {
    const Trial one = asked->ask(id, 1).at(0), other = quiet->ask(id, 1).at(0);
    EXPECT_EQ(one.genome, other.genome) << one.proposer;
    restarts += one.proposer.starts_with("gp restart") ? 1 : 0;
  }
  EXPECT_GT(restarts, 0);
}

TEST(GpScale, TwoHundredPendingTrialsAreAllDifferent) {
  const Space space = square();
  const auto searcher = make(space);
  for (const Trial& trial : random_trials(space, 0, 12)) tell(*searcher, trial);
  std::set<std::uint64_t> identities;
  for (const Trial& trial : searcher->ask(12, 200)) identities.insert(space.identity(trial.genome));
  EXPECT_EQ(identities.size(), 200u);
}

}  // namespace
}  // namespace detol
