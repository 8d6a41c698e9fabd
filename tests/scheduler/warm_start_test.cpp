// What a new study takes from the earlier ones of its knowledge base.

#include "scheduler/warm_start.h"

#include <fmt/format.h>

#include "scheduler/dataset_distances.h"
#include "scheduler/run/dataset_facts.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

using testing_support::Folder;
using testing_support::must;

constexpr const char* kSpace = R"(version: 1
study: {}
function: {{name: levy, dimensions: 2}}
objectives: [{{metric: value, direction: {}}}]
)";

struct Earlier {
  std::string name;
  std::string direction = "minimize";
  std::uint64_t data = 1;
  int trials = 10;
};

using Names = std::vector<std::string>;

// A knowledge base with a new study, `new`, on data 1.
class WarmStartTest : public testing::Test {
 protected:
  static StudyConfig config_of(const Earlier& study) {
    return must(load_study_config(fmt::format(kSpace, study.name, study.direction), "space.yaml"));
  }

  // Adds a study whose trial n has the value n and the choices (n / trials, 0).
  void add(const Earlier& study) {
    const StudyConfig config = config_of(study);
    StudyRecord record;
    record.name = study.name;
    record.config = config.text;
    record.data_fingerprint = study.data;
    record.objectives = config.objectives;
    record.created_s = ++created_;
    std::vector<Event> events;
    for (int n = 0; n < study.trials; ++n) {
      event::Asked asked;
      asked.trial = static_cast<TrialId>(n);
      asked.params = {{"x0", static_cast<double>(n) / study.trials}, {"x1", 0.0}};
      event::Told told;
      told.trial = asked.trial;
      told.outcome = Measured{.values = {static_cast<double>(n)}, .fidelity = 1};
      events.insert(events.end(), {asked, told});
    }
    must(ledger_->append(must(ledger_->create_study(record)), events));
  }

  // Returns "study:trials" of each source of the new study.
  Names chosen(const WarmStart& warm_start) {
    StudyConfig config = config_of({.name = "new"});
    config.warm_start = warm_start;
    sources_ = must(choose_sources(*ledger_, must(ledger_->study("new")), config));
    Names names;
    for (const event::Source& source : sources_)
      names.push_back(fmt::format("{}:{}", source.study, source.trials.size()));
    return names;
  }

  void SetUp() override { add({.name = "new", .trials = 0}); }

  Folder folder_;
  std::unique_ptr<Ledger> ledger_ = must(Ledger::open(folder_ / "detol.db"));
  double created_ = 0;
  std::vector<event::Source> sources_;
};

TEST_F(WarmStartTest, TakesStudiesOfTheSameObjectivesThoseOnTheSameDataFirst) {
  add({.name = "old"});
  add({.name = "maximised", .direction = "maximize"});
  add({.name = "elsewhere", .data = 2});
  add({.name = "empty", .trials = 0});
  add({.name = "latest"});
  EXPECT_EQ(chosen({}), (Names{"latest:10", "old:10", "elsewhere:10"}));
}

TEST_F(WarmStartTest, IsNotKeptFromAStudyByLaterOnesThatNeverFinishedATrial) {
  add({.name = "old"});
  for (int i = 0; i < 6; ++i) add({.name = fmt::format("empty{}", i), .trials = 0});
  EXPECT_EQ(chosen({}), Names{"old:10"});
}

TEST_F(WarmStartTest, TakesStudiesOnSimilarDataBeforeOthers) {
  const auto fact = [](int data, double ridge) {
    return Fact{kDatasetFact, fmt::format("{:016x}", data),
                fmt::format(R"({{"samples":1000,"ridge":{}}})", ridge)};
  };
  must(ledger_->record_facts(std::vector{fact(1, 0.8), fact(2, 0.7), fact(3, 0.2)}));
  add({.name = "near", .data = 2});
  add({.name = "far", .data = 3});
  add({.name = "unknown", .data = 4});
  add({.name = "same", .data = 1});
  add({.name = "near_again", .data = 2});
  EXPECT_EQ(chosen({}), (Names{"same:10", "near_again:10", "near:10", "far:10", "unknown:10"}));
}

TEST(DatasetDistances, CountEachFeatureByItsSpreadAndAnUnknownOneAsEqual) {
  const std::vector<Fact> facts = {
      {kDatasetFact, "0000000000000001", R"({"samples":100,"ridge":0.5})"},
      {kDatasetFact, "0000000000000002", R"({"samples":100,"ridge":0.7})"},
      {kDatasetFact, "0000000000000003", R"({"samples":10000,"ridge":0.5})"},
      {kDatasetFact, "0000000000000004", R"({"samples":10000})"},
      {kDatasetFact, "00000000000000ff", "damaged"}};
  const auto distances = dataset_distances(facts, 1);
  EXPECT_EQ(distances.at(1), 0);
  EXPECT_GT(distances.at(2), distances.at(3));  // fewer data sets have another `ridge`
  EXPECT_EQ(distances.at(3), distances.at(4));
  EXPECT_EQ(distances.at(255), 0);
  EXPECT_TRUE(dataset_distances(facts, 5).empty());
}

TEST_F(WarmStartTest, TakesFiveAtMost) {
  for (int i = 0; i < 8; ++i) add({.name = fmt::format("s{}", i)});
  EXPECT_EQ(chosen({}).size(), 5U);
}

TEST_F(WarmStartTest, TakesTheBestTrialsAndSomeOfAllRanks) {
  add({.name = "long", .trials = 2000});
  ASSERT_EQ(chosen({}), Names{"long:500"});
  const auto& trials = sources_.front().trials;
  EXPECT_EQ(trials.at(249).values, std::vector<double>{249});
  EXPECT_GT(trials.back().values.front(), 1900);
}

TEST_F(WarmStartTest, TakesTheNamedStudiesOrNone) {
  add({.name = "a"});
  add({.name = "b", .data = 2});
  EXPECT_EQ(chosen({.is_auto = false, .studies = {"b"}}), Names{"b:10"});
  EXPECT_EQ(chosen({.is_auto = false, .studies = {}}), Names{});
  StudyConfig config = config_of({.name = "new"});
  config.warm_start = {.is_auto = false, .studies = {"c"}};
  const auto unknown = choose_sources(*ledger_, must(ledger_->study("new")), config);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kStudy);
}

TEST_F(WarmStartTest, ItsEventsGiveTheSearcherTheSameTrials) {
  add({.name = "old"});
  chosen({});
  const std::vector<Event> events = {event::StudyState{}, sources_.at(0)};
  const auto sources = must(sources_of(events));
  ASSERT_EQ(sources.size(), 1U);
  EXPECT_EQ(sources[0].name, "old");
  ASSERT_EQ(sources[0].history.size(), 10U);
  EXPECT_EQ(sources[0].history[3].first.number("x0"), 0.3);
  EXPECT_EQ(std::get<Measured>(sources[0].history[3].second).values, std::vector<double>{3});
}

}  // namespace
}  // namespace detol
