// Tests of the portfolio beyond the contract: which member proposes, and which gets credit.

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "search/searcher.h"
#include "search/searchers.h"
#include "tests/search/fake_model.h"
#include "tests/search/spaces.h"

namespace detol {
namespace {

using testing_support::FakeModel;
using Options = std::map<std::string, std::string>;

const Space kSpace = testing_support::wide_space(8);

Result<std::unique_ptr<Searcher>> make(const Options& options) {
  return make_searcher("portfolio", kSpace,
                       {.seed = 7, .objectives = {minimize("loss")}, .options = options});
}

std::unique_ptr<Searcher> random_and_evolution() {
  return make({{"members", "random evolution"}}).value();
}

// Returns each member's share of the next thousand trials.
std::map<std::string, double> shares(Searcher& searcher) {
  std::map<std::string, double> shares;
  for (const Trial& trial : searcher.ask(100'000, 1000)) shares[trial.proposer] += 0.001;
  return shares;
}

// Side: a proposer, and the loss and work of each of its trials.
struct Side {
  std::string proposer;
  double loss = 0;
  double work = 0;
};

// Tells forty trials, of the two proposers by turns.
void tell_by_turns(Searcher& searcher, const Side& one, const Side& other) {
  Rng rng(1);
  for (TrialId id = 0; id < 40; ++id) {
    const Side& side = id % 2 == 0 ? one : other;
    searcher.tell({id, kSpace.sample(rng), side.proposer},
                  Measured{.values = {side.loss}, .work = side.work});
  }
}

TEST(Portfolio, OfOneMemberProposesWhatThatMemberProposes) {
  const auto portfolio = make({{"members", "evolution"}}).value();
  const auto alone = make_searcher("evolution", kSpace,
                                   {.seed = 7, .objectives = {minimize("loss")}, .options = {}})
                         .value();
  for (TrialId id = 0; id < 60; ++id) {
    const Trial trial = portfolio->ask(id, 1).at(0);
    EXPECT_EQ(trial.proposer, "evolution");
    ASSERT_EQ(trial.genome, alone->ask(id, 1).at(0).genome) << "trial " << id;
    const Measured outcome{.values = {static_cast<double>(id * 7 % 11)}};
    portfolio->tell(trial, outcome);
    alone->tell(trial, outcome);
  }
}

TEST(Portfolio, TrustsTheMembersInTheirOrderAtFirst) {
  const auto before = shares(*random_and_evolution());
  EXPECT_GT(before.at("random"), before.at("evolution"));
  EXPECT_GT(before.at("evolution"), 0.02);
}

TEST(Portfolio, GivesMoreTrialsToWhoPaysOffAndAFloorToTheOther) {
  const auto portfolio = random_and_evolution();
  tell_by_turns(*portfolio, {"evolution", 0.1}, {"random", 0.9});
  const auto after = shares(*portfolio);
  EXPECT_GT(after.at("evolution"), 0.8);
  EXPECT_GT(after.at("random"), 0.03);
}

TEST(Portfolio, CountsWhatATrialCosts) {
  const auto portfolio = random_and_evolution();
  tell_by_turns(*portfolio, {"evolution", 0.5, 1e9}, {"random", 0.5, 1e10});
  EXPECT_GT(shares(*portfolio).at("evolution"), 0.7);
}

TEST(Portfolio, GivesNobodyCreditForAnOutsideTrial) {
  const auto portfolio = random_and_evolution();
  tell_by_turns(*portfolio, {"initial", 0.1}, {"", 0.9});
  EXPECT_EQ(shares(*portfolio), shares(*random_and_evolution()));
}

// A restart looks elsewhere, and is owed that whatever it finds.
TEST(Portfolio, GivesNobodyCreditForARestart) {
  static constexpr auto kMake = [](const Space& space,
                                   const SearcherSettings&) -> Result<std::unique_ptr<Searcher>> {
    return std::make_unique<FakeModel>(space, 7);
  };
  static const SearcherRow kTable[] = {{"gp", "", kMake}, {"evolution", "", kMake}};
  const auto shares_after = [&](const Side& one, const Side& other) {
    const SearcherSettings settings{.seed = 7,
                                    .objectives = {minimize("loss")},
                                    .options = {{"members", "gp evolution"}, {"alone", "0"}}};
    const auto portfolio = make_portfolio_of(kTable, kSpace, settings).value();
    tell_by_turns(*portfolio, one, other);
    return shares(*portfolio);
  };
  const Side better{"evolution", 0.1};
  EXPECT_EQ(shares_after({"gp restart 3", 0.9}, better), shares_after({"initial", 0.9}, better));
  EXPECT_NE(shares_after({"gp region", 0.9}, better), shares_after({"initial", 0.9}, better));
}

TEST(Portfolio, ForgetsWhatIsOutsideItsWindow) {
  const auto portfolio = make({{"members", "random evolution"}, {"window", "20"}}).value();
  tell_by_turns(*portfolio, {"evolution", 0.1}, {"random", 0.9});
  EXPECT_GT(shares(*portfolio).at("evolution"), 0.6);
  Rng rng(2);
  for (TrialId id = 40; id < 60; ++id)
    portfolio->tell({id, kSpace.sample(rng), "initial"}, Measured{.values = {0.5}});
  EXPECT_EQ(shares(*portfolio), shares(*random_and_evolution()));
}

TEST(Portfolio, EarnsNothingWithFailuresAndRepeats) {
  const auto portfolio = random_and_evolution();
  Rng rng(1);
  const Genome known = kSpace.sample(rng);
  for (TrialId id = 0; id < 40; id += 4) {
    portfolio->tell({id, kSpace.sample(rng), "evolution"}, Measured{.values = {0.5}});
    portfolio->tell({id + 1, known, "random"}, Measured{.values = {0.1}});
    portfolio->tell({id + 2, kSpace.sample(rng), "random"}, Failed{});
  }
  const double before = shares(*random_and_evolution()).at("evolution");
  EXPECT_GT(shares(*portfolio).at("evolution"), before + 0.1);
}

// A repeat needs no training: what the trial before it cost is no part of the work that others are
// compared with.
TEST(Portfolio, CountsTheWorkOfARepeatOnce) {
  const auto shares_with = [](double work_of_repeats) {
    const auto portfolio = random_and_evolution();
    Rng rng(1);
    const Genome known = kSpace.sample(rng);
    portfolio->tell({1000, known, "random"}, Measured{.values = {0.5}, .work = 1});
    for (TrialId id = 0; id < 40; id += 4) {
      portfolio->tell({id, kSpace.sample(rng), "evolution"}, Measured{.values = {0.5}, .work = 1});
      portfolio->tell({id + 1, kSpace.sample(rng), "random"}, Measured{.values = {0.4}, .work = 3});
      portfolio->tell({id + 2, known, "evolution"},
                      Measured{.values = {0.5}, .work = work_of_repeats});
    }
    return shares(*portfolio);
  };
  EXPECT_EQ(shares_with(100), shares_with(1));
}

TEST(Portfolio, ChangesCreditWhenATrialIsToldAgain) {
  const auto portfolio = random_and_evolution();
  tell_by_turns(*portfolio, {"evolution", 0.9}, {"random", 0.1});
  tell_by_turns(*portfolio, {"evolution", 0.1}, {"random", 0.9});
  const auto straight = random_and_evolution();
  tell_by_turns(*straight, {"evolution", 0.1}, {"random", 0.9});
  EXPECT_EQ(shares(*portfolio), shares(*straight));
}

TEST(Portfolio, LetsAllMembersLearnFromAll) {
  // Trials of others end the random startup of `evolution`, too.
  const auto portfolio = make({{"members", "evolution"}}).value();
  const auto fresh = make({{"members", "evolution"}}).value();
  Rng rng(1);
  for (TrialId id = 0; id < 20; ++id)
    portfolio->tell({id, kSpace.sample(rng), "random"},
                    Measured{.values = {static_cast<double>(id)}});
  EXPECT_NE(portfolio->ask(50, 1).at(0).genome, fresh->ask(50, 1).at(0).genome);
}

// Returns the number of told trials after which others than gp propose, in steps of ten.
TrialId trials_alone(const Space& space) {
  const auto portfolio =
      make_searcher("portfolio", space, {.seed = 7, .objectives = {minimize("loss")}}).value();
  Rng rng(1);
  for (TrialId told = 0; told < 200; ++told) {
    const std::vector<Trial> asked = portfolio->ask(1000 * (told + 1), told % 10 == 0 ? 60 : 0);
    const auto is_of_gp = [](const Trial& trial) { return trial.proposer.starts_with("gp"); };
    if (!std::ranges::all_of(asked, is_of_gp)) return told;
    portfolio->tell({told, space.sample(rng), "random"}, Measured{.values = {0.5}});
  }
  return 200;
}

// The comparison of members begins after the first trials, later where each branch is searched.
TEST(Portfolio, OfDefaultMembersBeginsWithTheGaussianProcessAlone) {
  EXPECT_EQ(trials_alone(kSpace), 50);
  EXPECT_EQ(trials_alone(testing_support::conditional_space()), 100);
}

TEST(Portfolio, TrustsTheGaussianProcessMostWithOneObjective) {
  std::map<std::string, double> before = shares(*make({{"alone", "0"}}).value());
  EXPECT_GT(before["gp"], 0.6);
  EXPECT_GT(before["local"], before["evolution"]);
}

TEST(Portfolio, HasADefaultForOneAndForSeveralObjectives) {
  for (const auto& objectives :
       {std::vector{minimize("loss")}, std::vector{minimize("loss"), maximize("accuracy")}}) {
    const auto portfolio =
        make_searcher("portfolio", kSpace, {.seed = 7, .objectives = objectives, .options = {}});
    ASSERT_TRUE(portfolio) << portfolio.error().message;
    EXPECT_FALSE((*portfolio)->ask(0, 1).empty());
  }
}

TEST(Portfolio, WithSeveralObjectivesPaysTheWholeFront) {
  const auto share_of_evolution = [](const std::vector<double>& values) {
    const auto portfolio = make_searcher("portfolio", kSpace,
                                         {.seed = 7,
                                          .objectives = {minimize("loss"), maximize("accuracy")},
                                          .options = {{"members", "random evolution"}}})
                               .value();
    Rng rng(1);
    for (TrialId id = 0; id < 40; id += 2) {
      portfolio->tell({id, kSpace.sample(rng), "random"}, Measured{.values = {0.1, 0.2}});
      portfolio->tell({id + 1, kSpace.sample(rng), "evolution"}, Measured{.values = values});
    }
    return shares(*portfolio).at("evolution");
  };
  EXPECT_GT(share_of_evolution({0.9, 0.8}), 0.3);   // worse by the first, better by the second
  EXPECT_LT(share_of_evolution({0.9, 0.1}), 0.15);  // worse by both
}

TEST(Portfolio, SaysWhatIsWrongWithItsMembers) {
  const std::map<std::string, std::string> mistakes = {
      {"", "at least one"},
      {"random evoluton", "did you mean 'evolution'?"},
      {"random portfolio", "member of itself"},
      {"random random", "random is there twice"},
  };
  for (const auto& [members, sentence] : mistakes) {
    const auto portfolio = make({{"members", members}});
    ASSERT_FALSE(portfolio) << members;
    EXPECT_EQ(portfolio.error().code, ErrorCode::kInput);
    EXPECT_NE(portfolio.error().message.find(sentence), std::string::npos)
        << portfolio.error().message;
  }
  EXPECT_FALSE(make({{"members", "random evolution"}, {"floor", "0.6"}}));
}

// A portfolio of two FakeModels, which the test can inspect.
class PortfolioOfModels : public testing::Test {
 protected:
  static Result<std::unique_ptr<Searcher>> make_member(const std::string& name) {
    auto member = std::make_unique<FakeModel>(kSpace, 7, name);
    (name == "one" ? one : other) = member.get();
    return member;
  }
  static inline const SearcherRow kTable[] = {
      {"one", "", [](const Space&, const SearcherSettings&) { return make_member("one"); }},
      {"other", "", [](const Space&, const SearcherSettings&) { return make_member("other"); }}};

  void tell(TrialId trials) {
    Rng rng(1);
    for (TrialId id = 0; id < trials; ++id)
      portfolio->tell({id, kSpace.sample(rng)}, Measured{.values = {static_cast<double>(id)}});
  }

  static inline FakeModel* one = nullptr;
  static inline FakeModel* other = nullptr;
  const std::unique_ptr<Searcher> portfolio =
      make_portfolio_of(
          kTable, kSpace,
          {.seed = 7, .objectives = {minimize("loss")}, .options = {{"members", "one other"}}})
          .value();
};

TEST_F(PortfolioOfModels, LetsAllMembersExpectWhatOneProposed) {
  portfolio->ask(0, 4);
  portfolio->expect({4, Genome()});
  const std::set<TrialId> all = {0, 1, 2, 3, 4};
  EXPECT_EQ(one->expected(), all);
  EXPECT_EQ(other->expected(), all);
}

TEST_F(PortfolioOfModels, GivesAMemberTheShareThatItTakesFromSources) {
  const std::map<std::string, double> before = shares(*portfolio);
  other->trust = 1;
  EXPECT_FALSE(shares(*portfolio).contains("one"));
  other->trust = 0.5;
  EXPECT_NEAR(shares(*portfolio).at("one"), before.at("one") / 2, 0.05);
  other->trust = 0;
  EXPECT_EQ(shares(*portfolio), before);
  one->trust = 1;
  EXPECT_FALSE(shares(*portfolio).contains("other"));
}

// The floor alone leaves the later member most of what it has then.
TEST_F(PortfolioOfModels, ImaginesWorseTrialsOfTheMembersAfterOneThatTrustsSources) {
  const double before = shares(*portfolio).at("other");
  one->trust = 0.5;
  EXPECT_LT(shares(*portfolio).at("other"), 0.35 * before);
}

// What own trials say counts more and more, so no source keeps the others out for ever.
TEST_F(PortfolioOfModels, TrustsSourcesLessTheMoreTrialsItHas) {
  other->trust = 1;
  tell(200);
  EXPECT_GT(shares(*portfolio).at("one"), 0.2);
}

TEST_F(PortfolioOfModels, AsksItsMembersForWorkInTheirOrder) {
  tell(FakeModel::kEvery);
  std::vector<std::string> models;
  while (const auto job = portfolio->background()) {
    EXPECT_FALSE(portfolio->background());  // until the first job is absorbed
    const Refit refit = (*job)();
    models.push_back(refit.model);
    portfolio->absorb(refit);
  }
  EXPECT_EQ(models, (std::vector<std::string>{"one", "other"}));
}

TEST_F(PortfolioOfModels, GivesARefitToTheMemberWhoseItIs) {
  portfolio->absorb({.model = "other", .version = 3, .observations = 5, .parameters = {0.5}});
  portfolio->absorb({.model = "unknown", .version = 4, .observations = 5, .parameters = {0.5}});
  EXPECT_EQ(one->version(), 0u);
  EXPECT_EQ(other->version(), 3u);
}

// Only the portfolio can take its members' jobs, so no member may run one inside ask().
TEST_F(PortfolioOfModels, AMemberWhoseWorkWaitsIsAskedWithoutIt) {
  tell(FakeModel::kEvery);
  ASSERT_TRUE(portfolio->background());
  portfolio->ask(100, 50);
  EXPECT_EQ(other->version(), 0u);
}

TEST(Portfolio, GivesMoreCreditForWhatKeepsTheConstraints) {
  const auto portfolio = random_and_evolution();
  Rng rng(1);
  for (TrialId id = 0; id < 40; ++id) {
    const bool keeps = id % 2 == 0;
    portfolio->tell({id, kSpace.sample(rng), keeps ? "evolution" : "random"},
                    Measured{.values = {keeps ? 0.9 : 0.1}, .excesses = {keeps ? -0.5 : 0.5}});
  }
  EXPECT_GT(shares(*portfolio).at("evolution"), 0.8);
}

}  // namespace
}  // namespace detol
