// Databases that are merged: what is added, what grows, and what stays.

#include "knowledge/exchange/merge.h"

#include <fstream>

#include "core/file.h"
#include "knowledge/artefacts.h"
#include "knowledge/check.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::asked;
using testing_support::complete;
using testing_support::describe;
using testing_support::Folder;
using testing_support::must;
using testing_support::reported;
using testing_support::started;
using testing_support::study_named;

const std::vector<Event> kBegun = {asked(0), started(0, 1), reported(0, 1, 1, 0.5)};
const std::vector<Event> kLonger = {asked(0),
                                    started(0, 1),
                                    reported(0, 1, 1, 0.5),
                                    complete(0, 0.5, 1),
                                    event::StudyState{StudyPhase::kDone, "1cpu-h", 99},
                                    event::Accounted{60, 120}};
const std::vector<Event> kOther = {asked(0), started(0, 1), reported(0, 1, 1, 0.25)};

// Two databases in one folder: `base` and `other`.
class MergeTest : public testing::Test {
 protected:
  void write(const fs::path& path, const StudyRecord& record, const std::vector<Event>& events) {
    const auto ledger = must(Ledger::open(path));
    must(ledger->append(must(ledger->create_study(record)), events));
  }

  // Merges and returns "study as result", one per study.
  std::vector<std::string> merged() {
    std::vector<std::string> lines;
    for (const MergedStudy& one : must(merge(base_, other_)))
      lines.push_back(one.study + " " + one.as + " " + std::string(to_text(one.result)));
    EXPECT_EQ(must(check(base_)), std::vector<std::string>{});
    return lines;
  }

  std::vector<std::string> history(const fs::path& path, const std::string& name) {
    const auto reader = must(Reader::open(path));
    return describe(must(reader->events(must(reader->study(name)).id)));
  }

  Folder folder_;
  fs::path base_ = folder_ / "base.db", other_ = folder_ / "other.db";
};

using Lines = std::vector<std::string>;

TEST_F(MergeTest, AddsAStudyAndAgainChangesNothing) {
  write(other_, study_named("s"), kLonger);
  EXPECT_EQ(merged(), Lines{"s s added"});  // the base did not exist
  EXPECT_EQ(history(base_, "s"), history(other_, "s"));
  EXPECT_EQ(must(must(Reader::open(base_))->study("s")).state, StudyPhase::kDone);
  EXPECT_EQ(merged(), Lines{"s s same"});
  EXPECT_EQ(must(must(Reader::open(base_))->studies()).size(), 1U);
}

// Whoever can write into the base's folder must not choose what a merge writes to.
TEST_F(MergeTest, WritesThroughNoLinkInThePlaceOfAFile) {
  write(base_, study_named("s"), kBegun);
  write(other_, study_named("s"), kBegun);
  const fs::path victim = folder_ / "victim", ours = artefact_folder(base_, "s"),
                 theirs = artefact_folder(other_, "s");
  for (const auto& folder : {ours, theirs}) fs::create_directories(folder);
  std::ofstream(victim) << "precious";
  for (const char* name : {"a.json", "b.ckpt"}) std::ofstream(theirs / name) << "theirs";
  std::ofstream(theirs / "a.json.tmp-0123abcd") << "half";
  fs::create_symlink(victim, ours / "a.json.tmp-merge");
  fs::create_symlink(folder_ / "nowhere", ours / "a.json");
  merged();
  EXPECT_EQ(must(read_file(victim)), "precious");
  EXPECT_FALSE(fs::exists(folder_ / "nowhere"));
  EXPECT_FALSE(fs::is_symlink(ours / "a.json"));
  EXPECT_EQ(must(read_file(ours / "a.json")), "theirs");
  EXPECT_FALSE(fs::exists(ours / "a.json.tmp-0123abcd"));
}

TEST_F(MergeTest, TheLongerHistoryWins) {
  write(base_, study_named("s"), kBegun);
  write(other_, study_named("s"), kLonger);
  EXPECT_EQ(merged(), Lines{"s s extended"});
  EXPECT_EQ(history(base_, "s"), history(other_, "s"));
}

TEST_F(MergeTest, AStudyWithAWiderSpaceIsTheSameStudy) {
  event::StudyState wider{StudyPhase::kRunning, "1cpu-h", 99};
  wider.config = "wider";
  std::vector<Event> longer = kBegun;
  longer.emplace_back(wider);
  write(base_, study_named("s"), kBegun);
  write(other_, study_named("s"), longer);
  EXPECT_EQ(merged().size(), 1U);
  const auto reader = must(Reader::open(base_));
  EXPECT_EQ(must(reader->studies()).size(), 1U);
  EXPECT_EQ(must(reader->study("s")).config, "wider");
}

TEST_F(MergeTest, AnOlderCopyChangesNothing) {
  write(base_, study_named("s"), kLonger);
  write(other_, study_named("s"), kBegun);
  const auto before = history(base_, "s");
  EXPECT_EQ(merged(), Lines{"s s older"});
  EXPECT_EQ(history(base_, "s"), before);
}

TEST_F(MergeTest, HistoriesThatPartedAreBothKept) {
  write(base_, study_named("s"), kLonger);
  write(other_, study_named("s"), kOther);
  EXPECT_EQ(merged(), Lines{"s s-2 added"});
  EXPECT_EQ(history(base_, "s-2"), history(other_, "s"));
  EXPECT_EQ(merged(), Lines{"s s-2 same"});
}

TEST_F(MergeTest, BothWaysEndsWithTheSameTwoStudies) {
  write(base_, study_named("s"), kLonger);
  write(other_, study_named("s"), kOther);
  merged();
  must(merge(other_, base_));
  EXPECT_EQ(must(must(Reader::open(other_))->studies()).size(), 2U);
  EXPECT_EQ(history(other_, "s-2"), history(base_, "s"));
  EXPECT_EQ(merged(), (Lines{"s s-2 same", "s-2 s same"}));
}

TEST_F(MergeTest, AnotherStudyOfTheNameGetsANumber) {
  write(base_, study_named("s"), kLonger);
  StudyRecord later = study_named("s");
  later.created_s += 1;
  write(other_, later, kLonger);
  EXPECT_EQ(merged(), Lines{"s s-2 added"});
  EXPECT_EQ(merged(), Lines{"s s-2 same"});
}

TEST_F(MergeTest, ArtefactsFollow) {
  write(other_, study_named("s"), kBegun);
  const fs::path trial = artefact_folder(other_, "s") / "0";
  fs::create_directories(trial);
  std::ofstream(trial / "epoch-1.ckpt") << "weights";
  std::ofstream(trial / "log.txt") << "lines";
  EXPECT_EQ(must(merge(base_, other_)).front().files, 2);
  const fs::path copy = artefact_folder(base_, "s") / "0";
  EXPECT_TRUE(fs::equivalent(copy / "epoch-1.ckpt", trial / "epoch-1.ckpt"));
  EXPECT_FALSE(fs::equivalent(copy / "log.txt", trial / "log.txt"));
  EXPECT_EQ(must(merge(base_, other_)).front().files, 0);
}

// Its checkpoints may be those that the newer history has done without.
TEST_F(MergeTest, AnOlderCopyBringsNoFiles) {
  write(base_, study_named("s"), kLonger);
  write(other_, study_named("s"), kBegun);
  const fs::path trial = artefact_folder(other_, "s") / "0";
  fs::create_directories(trial);
  std::ofstream(trial / "epoch-1.ckpt") << "weights";
  EXPECT_EQ(must(merge(base_, other_)).front().files, 0);
  EXPECT_FALSE(fs::exists(artefact_folder(base_, "s") / "0"));
}

TEST_F(MergeTest, RefusesItselfAndWhatIsMissing) {
  write(base_, study_named("s"), kBegun);
  EXPECT_EQ(merge(base_, base_).error().code, ErrorCode::kUsage);
  EXPECT_EQ(merge(base_, folder_ / "none.db").error().code, ErrorCode::kStudy);
}

}  // namespace
}  // namespace detol
