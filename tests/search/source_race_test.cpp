// The race of a searcher that begins with sources against one that begins without.

#include "search/source_race.h"

#include <gtest/gtest.h>

#include "tests/search/warm_rows.h"

namespace detol::testing_support {
namespace {

Space line() {
  return SpaceBuilder().add_float("x", 0, 1).build().value();
}

SearcherSettings line_with_source() {
  Source source{.name = "one", .space = line(), .history = {}};
  for (double x : {0.1, 0.2, 0.3, 0.4})
    source.history.emplace_back(line().at(std::vector<double>{x}), Measured{.values = {x}});
  return {.seed = 3, .objectives = {minimize("loss")}, .options = {}, .sources = {source}};
}

// Signs its proposals, and counts what it is told.
class Signing final : public Searcher {
 public:
  Signing(std::string name, int& tells) : name_(std::move(name)), tells_(tells) {}
  std::vector<Trial> ask(TrialId first_id, int) override {
    return {{first_id, line().at(std::vector<double>{0.5}), name_}};
  }
  void tell(const Trial&, const Outcome&) override { ++tells_; }

 private:
  const std::string name_;
  int& tells_;
};

// A race of two signing searchers.
struct Race {
  int tells_with = 0, tells_without = 0;
  std::unique_ptr<Searcher> searcher =
      raced("own", line(), line_with_source(), [this](const SearcherSettings& each) {
        const bool has_sources = !each.sources.empty();
        return std::make_unique<Signing>(has_sources ? "with" : "without",
                                         has_sources ? tells_with : tells_without);
      });

  std::string proposer(TrialId id) { return searcher->ask(id, 1).at(0).proposer; }
  void tell(double of_sources, double of_others, const std::string& proposer = "") {
    for (TrialId id = 0; id < kRaced; ++id) {
      Trial trial = searcher->ask(id, 1).at(0);
      trial.proposer = proposer;
      searcher->tell(trial, Measured{.values = {id % 2 == 0 ? of_sources : of_others}});
    }
  }
};

TEST(SourceRace, LetsBothProposeInTurn) {
  Race race;
  for (TrialId id = 0; id < kRaced; ++id)
    EXPECT_EQ(race.proposer(id), id % 2 == 0 ? "with" : "without");
}

TEST(SourceRace, IsWonByTheBetterTrials) {
  Race good, bad, equal;
  good.tell(0.1, 0.2);
  bad.tell(0.2, 0.1);
  equal.tell(0.1, 0.1);
  EXPECT_EQ(good.proposer(kRaced), "with");
  EXPECT_EQ(bad.proposer(kRaced), "without");
  EXPECT_EQ(equal.proposer(kRaced), "with");
}

TEST(SourceRace, IsNotDecidedByTrialsOfOtherSearchers) {
  Race race;
  race.tell(0.2, 0.1, "gp region");
  EXPECT_EQ(race.proposer(kRaced), "with");
}

TEST(SourceRace, KeepsTheSourcesTrialsFromTheOther) {
  Race race;
  race.tell(0.2, 0.1, "own");
  EXPECT_EQ(race.tells_with, static_cast<int>(kRaced));
  EXPECT_EQ(race.tells_without, static_cast<int>(kRaced / 2));
}

}  // namespace
}  // namespace detol::testing_support
