// Whole studies: renamed, copied, deleted, with their folders.

#include "knowledge/studies.h"

#include <fstream>

#include <sqlite3.h>

#include "knowledge/artefacts.h"
#include "knowledge/check.h"
#include "knowledge/requests.h"
#include "knowledge/rows_impl.h"
#include "knowledge/storage/writer.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::asked;
using testing_support::complete;
using testing_support::describe;
using testing_support::must;
using testing_support::OneStudy;
using testing_support::reported;
using testing_support::started;
using testing_support::study_named;

void write(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

// TwoStudies is a database without a writer; its study `s` has a checkpoint and a log.
struct TwoStudies : OneStudy {
  TwoStudies() {
    append({asked(0), started(0, 1), reported(0, 1, 1, 0.5),
            event::Requeued{0, 1, requeue_reason_from("lost")}, started(0, 2),
            reported(0, 2, 2, 0.75), complete(0, 0.75), asked(1),
            event::Refit{"gp", 1, 1, {0.1, 3}, 9}, event::Accounted{60, 120},
            event::StudyState{StudyPhase::kStopped, "1cpu-h", 99}});
    const StudyId other = must(ledger->create_study(study_named("other")));
    must(ledger->append(other, std::vector<Event>{asked(0), asked(1), asked(2)}));
    ledger.reset();
    write(folder_of("s") / "0" / "epoch-2.ckpt", "weights");
    write(folder_of("s") / "0" / "log.txt", "lines");
    must(make_request(folder_of("s"), {RunRequest::kStop}));
  }
  ~TwoStudies() { EXPECT_EQ(must(check(path)), std::vector<std::string>{}); }

  fs::path folder_of(const std::string& name) const { return artefact_folder(path, name); }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const StudyRecord& record : must(must(Reader::open(path))->studies()))
      found.push_back(record.name);
    return found;
  }

  std::vector<std::string> history(const std::string& name) const {
    const auto reader = must(Reader::open(path));
    return describe(must(reader->events(must(reader->study(name)).id)));
  }
};

using Names = std::vector<std::string>;

// A name becomes a folder's: one that leaves it must not be followed, however it came into the
// file.
TEST(Studies, OfANameThatNoStudyMayHaveAreRefused) {
  for (const char* name : {"..", "../other", "a/b", "", ".hidden"}) {
    OneStudy one;
    StudyRecord record = must(one.ledger->study("s"));
    one.ledger.reset();
    record.name = name;
    {
      const auto database = must(sqlite::open(one.path.string(), SQLITE_OPEN_READWRITE));
      auto forge = must(sqlite::Statement::prepare(database.get(),
                                                   "UPDATE studies SET name = ?1, checksum = ?2"));
      forge.bind(1, std::string_view(record.name));
      forge.bind(2, checksum(record));
      must(forge.run());
    }
    const auto read = must(Reader::open(one.path))->studies();
    ASSERT_FALSE(read) << name;
    EXPECT_EQ(read.error().code, ErrorCode::kStorage);
    EXPECT_NE(read.error().message.find("detol lets no study be"), std::string::npos)
        << read.error().message;
    EXPECT_FALSE(copy_study(one.path, name, "copy")) << name;
    EXPECT_FALSE(check(one.path)->empty()) << name;
  }
}

TEST(Studies, ARenamedOneHasItsHistoryAndItsFolder) {
  TwoStudies two;
  const auto before = two.history("s");
  must(rename_study(two.path, "s", "new"));
  EXPECT_EQ(two.names(), (Names{"new", "other"}));
  EXPECT_EQ(two.history("new"), before);
  EXPECT_FALSE(fs::exists(two.folder_of("s")));
  EXPECT_TRUE(fs::exists(two.folder_of("new") / "0" / "epoch-2.ckpt"));
}

TEST(Studies, ACopyHasTheSameHistoryAndItsOwnFuture) {
  TwoStudies two;
  const auto before = two.history("s");
  const StudySize size = must(copy_study(two.path, "s", "twin"));
  EXPECT_EQ(size.trials, 2);
  EXPECT_EQ(two.names(), (Names{"s", "other", "twin"}));
  EXPECT_EQ(two.history("twin"), before);
  two.ledger = must(Ledger::open(two.path));
  const StudyId twin = must(two.ledger->study("twin")).id;
  must(two.ledger->append(twin, std::vector<Event>{asked(2)}));
  EXPECT_EQ(must(two.ledger->events(twin)).size(), before.size() + 1);
  EXPECT_EQ(two.history("s"), before);
}

TEST(Studies, ACopySharesCheckpointsAndNothingElse) {
  TwoStudies two;
  must(copy_study(two.path, "s", "twin"));
  const fs::path trial = two.folder_of("twin") / "0";
  EXPECT_TRUE(fs::equivalent(trial / "epoch-2.ckpt", two.folder_of("s") / "0" / "epoch-2.ckpt"));
  EXPECT_FALSE(fs::equivalent(trial / "log.txt", two.folder_of("s") / "0" / "log.txt"));
  EXPECT_TRUE(requests_in(two.folder_of("twin")).empty());
}

TEST(Studies, ADeletedOneIsGoneAndTheOthersStay) {
  TwoStudies two;
  const auto other = two.history("other");
  const StudySize size = must(delete_study(two.path, "s"));
  EXPECT_EQ(size.trials, 2);
  EXPECT_EQ(size.files, 3);
  EXPECT_EQ(two.names(), Names{"other"});
  EXPECT_EQ(two.history("other"), other);
  EXPECT_FALSE(fs::exists(two.folder_of("s")));
  const auto rows = must(must(Reader::open(two.path))->select("SELECT * FROM v_params"));
  EXPECT_EQ(rows.rows.size(), 6U);
}

TEST(Studies, SaysWhichNamesAreWrong) {
  TwoStudies two;
  struct Mistake {
    std::string from, to;
    ErrorCode code;
    std::string says;
  };
  fs::create_directories(two.folder_of("stranger"));
  for (const Mistake& mistake : {Mistake{"t", "new", ErrorCode::kStudy, "unknown study 't'"},
                                 Mistake{"othr", "new", ErrorCode::kStudy, "did you mean 'other'?"},
                                 Mistake{"s", "other", ErrorCode::kStudy, "exists already"},
                                 Mistake{"s", "s", ErrorCode::kStudy, "exists already"},
                                 Mistake{"s", "a/b", ErrorCode::kUsage, "letters"},
                                 Mistake{"s", "..", ErrorCode::kUsage, "letters"},
                                 Mistake{"s", "", ErrorCode::kUsage, "letters"},
                                 Mistake{"s", "-x", ErrorCode::kUsage, "no '-' or '.' first"},
                                 Mistake{"s", "stranger", ErrorCode::kStorage, "in the way"}}) {
    for (const bool copies : {false, true}) {
      const auto done = copies ? copy_study(two.path, mistake.from, mistake.to).map([](auto) {})
                               : rename_study(two.path, mistake.from, mistake.to);
      ASSERT_FALSE(done) << mistake.to;
      EXPECT_EQ(done.error().code, mistake.code) << done.error().message;
      EXPECT_NE(done.error().message.find(mistake.says), std::string::npos) << done.error().message;
    }
  }
  EXPECT_EQ(two.names(), (Names{"s", "other"}));
  EXPECT_TRUE(fs::exists(two.folder_of("stranger")));
}

TEST(Studies, AreLeftAloneWhileAMasterRuns) {
  TwoStudies two;
  two.ledger = must(Ledger::open(two.path));
  for (const auto& done :
       {rename_study(two.path, "s", "new"), copy_study(two.path, "s", "new").map([](auto) {}),
        delete_study(two.path, "other").map([](auto) {})}) {
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kStorage);
    EXPECT_NE(done.error().message.find("being written by process"), std::string::npos);
  }
}

TEST(Studies, NoneIsCreatedThatCommandsWouldTakeForAnOption) {
  OneStudy one;
  const auto made = one.ledger->create_study(study_named("-x"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kUsage);
}

TEST(Studies, AreMeasuredBesideAMaster) {
  TwoStudies two;
  two.ledger = must(Ledger::open(two.path));
  const StudySize size = must(measure_study(two.path, "s"));
  EXPECT_EQ(size.trials, 2);
  EXPECT_EQ(size.files, 3);
  EXPECT_FALSE(measure_study(two.path, "t"));
}

TEST(Studies, WithoutADatabaseNothingIsCreated) {
  testing_support::Folder folder;
  const auto done = delete_study(folder / "detol.db", "s");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kStudy);
  EXPECT_EQ(folder.size(), 0U);
}

struct Note {
  std::string text;
  Names folders;  // afterwards
};

TEST(Studies, AReaderCompletesWhatAKilledChangeLeft) {
  for (const Note& note :
       {Note{R"({"folder": "old", "new_name": "s"})", {"s"}},         // renamed, the folder not yet
        Note{R"({"folder": "s", "new_name": "new"})", {"old", "s"}},  // not renamed
        Note{R"({"folder": "old", "new_name": ""})", {"s"}},          // deleted or half copied
        Note{R"({"folder": "s", "new_name": ""})", {"old", "s"}},     // copied, or not deleted
        Note{R"({"folder": "..", "new_name": ""})", {"old", "s"}},
        Note{R"({"folder": 7})", {"old", "s"}}, Note{"half a no", {"old", "s"}}}) {
    TwoStudies two;
    write(two.folder_of("old") / "mark", "");
    const bool is_renamed = note.folders == Names{"s"} && note.text.find("\"s\"") < 40;
    if (is_renamed) fs::remove_all(two.folder_of("s"));
    write(two.folder_of(".pending"), note.text);
    EXPECT_EQ(two.names(), (Names{"s", "other"}));
    Names left;
    for (const auto& entry : fs::directory_iterator(two.folder_of("s").parent_path()))
      if (entry.path().filename() != ".owner") left.push_back(entry.path().filename());
    std::sort(left.begin(), left.end());
    EXPECT_EQ(left, note.folders) << note.text;
    EXPECT_EQ(fs::exists(two.folder_of("s") / "mark"), is_renamed) << note.text;
  }
}

TEST(Writer, IsNamedWithTheStudyThatItRuns) {
  OneStudy one;
  one.append({event::StudyState{StudyPhase::kRunning, "1cpu-h", 1}});
  auto writer = must(current_writer(one.path));
  ASSERT_TRUE(writer);
  EXPECT_EQ(writer->pid, ::getpid());
  EXPECT_EQ(writer->study, "s");
  one.append({event::StudyState{StudyPhase::kStopped, "1cpu-h", 2}});
  EXPECT_EQ(must(current_writer(one.path))->study, "");
  one.ledger.reset();
  EXPECT_FALSE(must(current_writer(one.path)));
}

}  // namespace
}  // namespace detol
