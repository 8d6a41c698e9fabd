// The trials of a study that goes on show what a report of the same study shows.

#include "report/live_trials.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "knowledge/changes.h"
#include "report/panels.h"
#include "tests/report/written_study.h"

namespace detol::report {
namespace {

using testing_support::WrittenStudy;
using testing_support::WrittenTrial;

Rows rows_of(Reader& reader, const std::vector<TrialId>& trials) {
  return reader
      .select(fmt::format("SELECT * FROM v_trials WHERE study = 'written' AND trial IN ({}) "
                          "ORDER BY trial",
                          fmt::join(trials, ",")))
      .value();
}

// Follower: LiveTrials of a written study, as `detol dashboard` keeps them.
class Follower {
 public:
  explicit Follower(const WrittenStudy& study) : study_(study) {}

  // Returns how many trials were read.
  std::size_t read_new() {
    const auto reader = study_.reader();
    const auto changed = changed_trials(*reader, study_.id(), last_).value();
    live.take(rows_of(*reader, changed), attempts_of(*reader, study_.id(), changed).value(),
              source().study.objectives);
    last_ = progress_of_studies(*reader).value().front().last;
    return changed.size();
  }

  ReportSource source() const {
    ReportSource source = study_.source();
    source.trials = Rows();
    source.events = state_events(*study_.reader(), study_.id()).value();
    return source;
  }

  Json model() {
    const auto reader = study_.reader();
    const Rows curves =
        reader
            ->select(fmt::format("SELECT trial, epoch, value FROM v_metrics WHERE name = 'value' "
                                 "AND trial IN ({}) ORDER BY trial, epoch",
                                 fmt::join(live.with_curves(source()), ",")))
            .value();
    return live.model(source(), rows_of(*reader, live.drawn(source())), curves);
  }

  std::vector<TrialId> page(const TrialQuery& query, std::size_t& matching) const {
    return live.page(source(), query, matching);
  }

  LiveTrials live;

 private:
  const WrittenStudy& study_;
  std::int64_t last_ = 0;
};

void add_some(WrittenStudy& study) {
  study.append({event::StudyState{StudyPhase::kRunning, "10trials", testing_support::kBegin}});
  study.add({.curve = {5, 4}, .until_s = 3});
  study.add({.curve = {3}, .from_s = 3, .until_s = 5, .state = TrialState::kPruned});
  study.add(
      {.curve = {}, .from_s = 5, .until_s = 6, .state = TrialState::kFail, .worker = "local/1"});
  study.add({.curve = {2, 1}, .from_s = 6, .until_s = 9, .proposer = "gp"});
  study.add({.curve = {9}, .from_s = 7, .state = TrialState::kRunning});
  study.append({event::Accounted{9, 12}});
}

TEST(LiveTrials, ShowWhatAReportShows) {
  for (const bool has_two : {false, true}) {
    std::vector<Objective> objectives = {minimize("value")};
    if (has_two) objectives.push_back(maximize("speed"));
    WrittenStudy study(objectives);
    add_some(study);
    study.note(TrialId{1}, "<b>odd</b>");
    Follower follower(study);
    follower.read_new();
    const Json live = follower.model(), report = study.model();
    for (const auto& [panel, value] : report.items()) EXPECT_EQ(live[panel], value) << panel;
  }
}

TEST(LiveTrials, ReadNoMoreThanWhatIsNew) {
  WrittenStudy study;
  add_some(study);
  Follower follower(study);
  EXPECT_EQ(follower.read_new(), 5U);
  EXPECT_EQ(follower.read_new(), 0U);
  study.add({.curve = {0.5}, .from_s = 9, .until_s = 10});
  event::Told told;
  told.trial = 4;
  told.at_s = testing_support::kBegin + 11;
  told.outcome = Measured{.values = {9}};
  study.append({told});
  EXPECT_EQ(follower.read_new(), 2U);
  EXPECT_EQ(follower.model(), study.model());
}

TEST(LiveTrials, DrawFewOfManyButCountAll) {
  WrittenStudy study;
  std::vector<WrittenTrial> trials;
  for (int i = 0; i < 6000; ++i) trials.push_back({.curve = {std::abs(i - 4321.0)}});
  study.add_all(trials);
  Follower follower(study);
  follower.read_new();
  const auto drawn = follower.live.drawn(follower.source());
  EXPECT_LE(drawn.size(), 2600U);
  EXPECT_TRUE(std::ranges::binary_search(drawn, TrialId{4321})) << "the best";
  EXPECT_EQ(drawn.back(), 5999U) << "the newest";
  EXPECT_LE(follower.live.with_curves(follower.source()).size(), 300U);
  EXPECT_EQ(follower.live.best(follower.source(), 1).front(), 4321U);
  const Json model = follower.model();
  EXPECT_EQ(model["count"], 6000);
  EXPECT_EQ(model["credit"]["rows"][0]["proposals"], 6000);
  EXPECT_EQ(model["trials"]["trial"].size(), drawn.size());
  EXPECT_LE(model["history"]["by_trial"]["trial"].size(), 8000U);
  EXPECT_EQ(model["history"]["by_trial"]["best"].back(), 0.0);
}

class TrialPages : public testing::Test {
 protected:
  TrialPages() : follower_(study_) {
    for (int i = 0; i < 50; ++i) {
      WrittenTrial trial{.curve = {(i * 7) % 50 + 0.5}};
      if (i == 13) trial = {.curve = {}, .state = TrialState::kFail};
      study_.add(trial);
    }
    study_.note(TrialId{21}, "a Strange one");
    follower_.read_new();
  }

  std::vector<TrialId> page(const TrialQuery& query) { return follower_.page(query, matching_); }

  WrittenStudy study_;
  Follower follower_;
  std::size_t matching_ = 0;
};

TEST_F(TrialPages, BeginWithTheNewest) {
  const auto first = page({});
  ASSERT_EQ(first.size(), kTrialsOfPage);
  EXPECT_EQ(first.front(), 49U);
  EXPECT_EQ(matching_, 50U);
  const auto last = page({.page = 2});
  EXPECT_EQ(last, (std::vector<TrialId>{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(page({.page = 99}), last) << "behind the last one is the last one";
}

TEST_F(TrialPages, AreSortedByAValueWithUnknownOnesLast) {
  EXPECT_EQ(page({.sort = "value0", .is_descending = false}).front(), 0U);
  EXPECT_EQ(page({.sort = "value0"}).front(), 7U);
  for (const bool is_descending : {false, true})
    EXPECT_EQ(page({.sort = "value0", .is_descending = is_descending, .page = 2}).back(), 13U);
  EXPECT_EQ(page({.sort = "state"}).front(), 13U) << "FAIL comes after COMPLETE";
  EXPECT_EQ(page({.sort = "no such column"}).front(), 49U);
}

TEST_F(TrialPages, EndWithProposalsThatWereNeverTried) {
  event::Asked asked;
  asked.trial = 50;
  asked.params = {{"x0", 0.5}, {"x1", 1.0}};
  study_.append({asked});
  follower_.read_new();
  EXPECT_EQ(page({}).front(), 49U);
  for (const char* sort : {"trial", "value0", "epochs", "state"})
    EXPECT_EQ(page({.sort = sort, .page = 2}).back(), 50U) << sort;
}

TEST_F(TrialPages, HaveTheTrialsWithTheWords) {
  EXPECT_EQ(page({.words = "strange"}), std::vector<TrialId>{21});
  EXPECT_EQ(matching_, 1U);
  EXPECT_EQ(page({.words = "fail"}), std::vector<TrialId>{13});
  EXPECT_TRUE(page({.words = "%' OR 1=1"}).empty());
}

}  // namespace
}  // namespace detol::report
