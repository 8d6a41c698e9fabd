// The networks of a base as graphs.

#include "studies/similar_networks.h"

#include <algorithm>

#include "tests/studies/cnn_study.h"

namespace detol {
namespace {

using KnownNetworksOf = testing_support::CnnStudy;

TEST_F(KnownNetworksOf, AStudyBeginWithTheOneThatWasAskedAbout) {
  write_study("a", 12);
  const KnownNetworks known = known_networks(opened("a"), "4").value();
  ASSERT_EQ(known.networks.size(), 12u);
  EXPECT_EQ(known.networks.front().trial, 4);
  std::vector<std::int64_t> trials;
  for (const ScoredNetwork& one : known.networks) trials.push_back(one.trial);
  std::ranges::sort(trials);
  for (std::size_t i = 0; i < trials.size(); ++i) EXPECT_EQ(trials[i], std::int64_t(i));
  ASSERT_EQ(known.studies.size(), 1u);
  EXPECT_EQ(known.studies[0].name, "a");
  EXPECT_EQ(known.studies[0].metric, "val_accuracy");
  EXPECT_FALSE(known.is_cut);
}

TEST_F(KnownNetworksOf, ABaseAreThoseOfAllStudiesThatCanBeRead) {
  write_study("a", 5);
  write_study("b", 5, 0.2);
  StudyConfig newer;
  newer.study = "newer";
  newer.text = "version: 99";
  newer.objectives = {maximize("val_accuracy")};
  begin(newer, {.created_s = 100});
  const KnownNetworks known = known_networks(opened("a"), "best").value();
  EXPECT_EQ(known.networks.size(), 10u);
  ASSERT_EQ(known.studies.size(), 2u);
  EXPECT_EQ(known.studies[1].name, "b");
  EXPECT_EQ(std::ranges::count(known.networks, 1u, &ScoredNetwork::study), 5);
}

TEST_F(KnownNetworksOf, EqualHashAreOneOfWhichTheBestTrialCounts) {
  write_study("a", 1);
  const auto ledger = Ledger::open(storage()).value();
  const StudyConfig config = read_study_config(DETOL_SOURCE_DIR "/configs/cnn.yaml").value();
  for (TrialId id = 1; id < 4; ++id) {
    event::Asked asked;
    asked.trial = id;
    Rng rng(1);
    asked.params = config.space.sample(rng).assignments();
    asked.arch_hash = "00112233445566aa";
    event::Reported reported;
    reported.trial = id;
    reported.epoch = 1;
    reported.metrics = {{"val_accuracy", id == 2 ? 0.3 : 0.1}};
    const std::vector<Event> events = {asked, event::Started{id, 1, "w"}, reported};
    ASSERT_TRUE(ledger->append(1, events));
  }
  const KnownNetworks known = known_networks(opened("a"), "0").value();
  ASSERT_EQ(known.networks.size(), 2u);
  EXPECT_EQ(known.networks[1].trial, 2);
}

TEST_F(KnownNetworksOf, AStudyThatScoresNumbersAreNone) {
  write_study("nets", 3);
  const StudyConfig config =
      load_study_config("version: 1\nstudy: s\nfunction: {name: sphere}\n", "s.yaml").value();
  append_trial(*Ledger::open(storage()).value(), begin(config), 0,
               config.space.at(std::vector<double>{0.5, 0.5}), {{"value", 1.0}});
  const auto none = known_networks(opened("s"), "0");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kEmpty);
  EXPECT_EQ(known_networks(opened("nets"), "0").value().networks.size(), 3u);
  EXPECT_EQ(known_networks(opened("nets"), "9").error().code, ErrorCode::kEmpty);
}

}  // namespace
}  // namespace detol
