// Labels: the last change holds, also over names, merges and clocks.

#include "knowledge/labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "knowledge/exchange/merge.h"
#include "knowledge/studies.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::asked;
using testing_support::must;
using testing_support::OneStudy;

// Changes labels as a command does: by a ledger of its own.
void change(const fs::path& path, const std::string& study, const LabelChange& what, double now_s) {
  const auto ledger = must(Ledger::open(path));
  const auto record = must(ledger->study(study));
  must(ledger->record_facts(label_facts(record, what, now_s, must(ledger->facts(kLabelFact)))));
}

// Returns "good late: a note" of a target.
std::string labels(const fs::path& path, const std::string& study, LabelTarget target = {}) {
  const auto reader = must(Reader::open(path));
  auto all = labels_of(must(reader->study(study)), must(reader->facts(kLabelFact)));
  const Labels& one = all[target];
  return fmt::format("{}: {}", fmt::join(one.tags, " "), one.note);
}

TEST(Labels, TheLastChangeOfATargetHolds) {
  const OneStudy one;
  change(one.path, "s", {.tags = {"late", "good"}, .note = "first"}, 10);
  change(one.path, "s", {.target = 3, .tags = {"bad"}}, 11);
  EXPECT_EQ(labels(one.path, "s"), "good late: first");
  EXPECT_EQ(labels(one.path, "s", 3), "bad: ");
  EXPECT_EQ(labels(one.path, "s", 4), ": ");
  change(one.path, "s", {.tags = {"late", "never"}, .removes_tags = true}, 12);
  change(one.path, "s", {.note = "second"}, 13);
  EXPECT_EQ(labels(one.path, "s"), "good: second");
  change(one.path, "s", {.tags = {"late"}, .note = ""}, 14);
  EXPECT_EQ(labels(one.path, "s"), "good late: ");
}

TEST(Labels, AClockThatWasSetBackLosesNoChange) {
  const OneStudy one;
  change(one.path, "s", {.tags = {"good"}}, 1000);
  change(one.path, "s", {.tags = {"good"}, .removes_tags = true}, 10);
  EXPECT_EQ(labels(one.path, "s"), ": ");
}

TEST(Labels, NeedNoLockOfTheStudyAndDoNotDisturbItsWriter) {
  OneStudy one;  // its ledger has the lock
  change(one.path, "s", {.target = 0, .tags = {"good"}}, 10);
  must(one.ledger->append(one.study, std::vector<Event>{asked(0)}));
  EXPECT_EQ(labels(one.path, "s", 0), "good: ");
}

TEST(Labels, FollowANameAndStayBehindACopy) {
  OneStudy one;
  change(one.path, "s", {.tags = {"good"}}, 10);
  one.ledger.reset();
  must(copy_study(one.path, "s", "copy"));
  must(rename_study(one.path, "s", "t"));
  EXPECT_EQ(labels(one.path, "t"), "good: ");
  EXPECT_EQ(labels(one.path, "copy"), ": ");
  must(delete_study(one.path, "t"));
  EXPECT_EQ(labels(one.path, "copy"), ": ");
}

TEST(Labels, OfMergedDatabasesAreThoseOfBoth) {
  OneStudy one;
  const fs::path other = one.path.parent_path() / "other.db";
  one.ledger.reset();
  must(merge(other, one.path));
  change(one.path, "s", {.tags = {"ours", "both"}, .note = "older"}, 10);
  change(other, "s", {.target = 2, .tags = {"theirs"}}, 11);
  change(other, "s", {.note = "newer"}, 12);
  change(one.path, "s", {.tags = {"both"}, .removes_tags = true}, 13);
  must(rename_study(one.path, "s", "s-2"));
  must(merge(one.path, other));
  must(merge(other, one.path));
  for (const auto& [path, study] : {std::pair(one.path, "s-2"), {other, "s"}}) {
    EXPECT_EQ(labels(path, study), "ours: newer");
    EXPECT_EQ(labels(path, study, 2), "theirs: ");
  }
}

TEST(Labels, AreOfOneStudyAlone) {
  OneStudy one;
  StudyRecord second = must(one.ledger->study("s"));
  second.name = "second";
  second.created_s += 1;
  must(one.ledger->create_study(second));
  change(one.path, "s", {.tags = {"good"}}, 10);
  EXPECT_EQ(labels(one.path, "second"), ": ");
}

TEST(Labels, FactsThatNoDetolWritesAreLeftOut) {
  OneStudy one;
  const auto record = must(one.ledger->study("s"));
  const std::string good = label_facts(record, {.tags = {"good"}}, 10, {})[0].payload;
  const std::string study = good.substr(0, good.find(','));  // {"study":"..."
  std::vector<Fact> facts = {{kLabelFact, "1", "no JSON"}, {kLabelFact, "2", good}};
  for (const char* rest :
       {"", R"(,"tag":"a")", R"(,"at":"x","tag":"a","on":true)", R"(,"at":1,"tag":7,"on":true)",
        R"(,"at":1,"note":[])", R"(,"at":1,"tag":"a","on":"yes")"})
    facts.push_back({kLabelFact, std::to_string(facts.size() + 1), study + rest + "}"});
  auto all = labels_of(record, facts);
  EXPECT_EQ(all[std::nullopt].tags, std::set<std::string>{"good"});
  EXPECT_EQ(all[std::nullopt].note, "");
}

}  // namespace
}  // namespace detol
