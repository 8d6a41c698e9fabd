// Folders of artefacts have one owner: databases of one stem, copies, moves, folders of an older
// detol.

#include "knowledge/artefacts.h"

#include <fstream>

#include "core/file.h"
#include "knowledge/backup.h"
#include "knowledge/studies.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::asked;
using testing_support::Folder;
using testing_support::must;
using testing_support::study_named;

constexpr const char* kWeights = "epoch-2.ckpt";

void write(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

class Artefacts : public testing::Test {
 protected:
  // A closed database with the study "s", which has a checkpoint with the database's name in it.
  fs::path make(const std::string& name) const {
    const fs::path path = folder_ / name;
    const auto ledger = must(Ledger::open(path));
    must(
        ledger->append(must(ledger->create_study(study_named("s"))), std::vector<Event>{asked(0)}));
    write(weights_of(path), name);
    return path;
  }

  // Makes the same with the folder of an older detol: its old name, and no owner file.
  fs::path make_old(const std::string& name) const {
    const fs::path path = make(name);
    fs::remove(own(path) / ".owner");
    fs::rename(own(path), old(path));
    return path;
  }

  static fs::path own(const fs::path& path) { return path.string() + ".d"; }
  static fs::path old(const fs::path& path) { return fs::path(path).replace_extension(".d"); }
  static fs::path weights_of(const fs::path& path) {
    return artefact_folder(path, "s") / "0" / kWeights;
  }
  static void open(const fs::path& path) { must(Ledger::open(path)); }

  static void expect_refused(const fs::path& path, std::string_view says) {
    const auto ledger = Ledger::open(path);
    ASSERT_FALSE(ledger);
    EXPECT_EQ(ledger.error().code, ErrorCode::kStorage);
    EXPECT_NE(ledger.error().message.find(says), std::string::npos) << ledger.error().message;
    EXPECT_EQ(ledger.error().message.find('\n'), std::string::npos);
  }

  Folder folder_;
};

TEST_F(Artefacts, OfDatabasesOfOneStemAreApart) {
  const char* const names[] = {"results.v1", "results.v2", "results.bak", "results.db", "results"};
  for (const char* name : names) make(name);
  must(delete_study(folder_ / "results.v1", "s"));
  EXPECT_FALSE(fs::exists(weights_of(folder_ / "results.v1")));
  for (const char* name : {"results.v2", "results.bak", "results.db", "results"})
    EXPECT_EQ(must(read_file(weights_of(folder_ / name))), name);
}

TEST_F(Artefacts, OfAnotherDatabaseAreRefusedAndNotTouched) {
  const fs::path one = make("one.db"), other = make("other.db");
  fs::remove(one);
  fs::copy(other, one);
  expect_refused(one, "belongs to another database than " + one.string());
  const auto found = find_artefacts(one, "s");
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("belongs to another database"), std::string::npos);
  EXPECT_FALSE(delete_study(one, "s"));
  EXPECT_EQ(must(read_file(weights_of(one))), "one.db");
}

TEST_F(Artefacts, OfADatabaseThatIsGoneAreNotTheNextOnes) {
  const fs::path path = make("detol.db");
  fs::remove(path);
  expect_refused(path, own(path).string() + " is left from a database that is not there any more");
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists(weights_of(path)));
}

TEST_F(Artefacts, AreHandedOverByEmptyingTheMark) {
  const fs::path one = make("one.db"), other = make("other.db");
  fs::remove(one);
  fs::copy(other, one);
  write(own(one) / ".owner", "");
  open(one);
  open(one);
  EXPECT_EQ(must(find_artefacts(one, "s")) / "0" / kWeights, weights_of(one));
  EXPECT_GT(fs::file_size(own(one) / ".owner"), 0U);
}

TEST_F(Artefacts, OfADamagedMarkAreRefused) {
  const fs::path path = make("detol.db");
  const std::string mark = must(read_file(own(path) / ".owner"));
  for (std::size_t i = 0; i + 1 < mark.size(); ++i) {
    std::string flipped = mark;
    flipped[i] ^= 1;
    write(own(path) / ".owner", flipped);
    expect_refused(path, "belongs to another database");
  }
  write(own(path) / ".owner", mark);
  open(path);
}

TEST_F(Artefacts, OfACopyAreItsOwnAndNotTheOriginals) {
  const fs::path path = make("detol.db"), copy = folder_ / "copy.db";
  must(back_up(path, copy, false));
  open(copy);
  EXPECT_FALSE(fs::exists(weights_of(copy)));
  must(delete_study(copy, "s"));
  EXPECT_TRUE(fs::exists(weights_of(path)));
  fs::rename(copy, path);  // its id is not the folder's
  expect_refused(path, "belongs to another database");
}

TEST_F(Artefacts, ServeABackupThatIsPutBack) {
  const fs::path path = make("detol.db"), copy = folder_ / "copy.db";
  must(back_up(path, copy, false));
  open(path);
  for (const char* tail : {"", "-wal", "-shm"}) fs::remove(path.string() + tail);
  fs::rename(copy, path);
  open(path);
  EXPECT_EQ(must(find_artefacts(path, "s")) / "0" / kWeights, weights_of(path));
}

TEST_F(Artefacts, MoveWithTheirDatabaseOrStayWhereTheyAre) {
  const fs::path path = make("detol.db"), moved = folder_ / "moved.db",
                 alone = folder_ / "alone.db";
  fs::rename(path, moved);
  fs::rename(own(path), own(moved));
  open(moved);
  EXPECT_TRUE(fs::exists(weights_of(moved)));
  fs::rename(moved, alone);
  open(alone);
  EXPECT_FALSE(fs::exists(weights_of(alone)));
  EXPECT_TRUE(fs::exists(weights_of(moved)));
}

TEST_F(Artefacts, OfAnOlderDetolTakeTheNewName) {
  const fs::path path = make_old("results.db");
  EXPECT_EQ(must(find_artefacts(path, "s")), old(path) / "s");  // a reader finds them as well
  open(path);
  EXPECT_FALSE(fs::exists(old(path)));
  EXPECT_EQ(must(read_file(weights_of(path))), "results.db");
  open(path);
}

TEST_F(Artefacts, AKillWhileTheyAreRenamedIsMadeGood) {
  const fs::path path = make("results.db");
  fs::rename(own(path), old(path));  // marked, and not yet renamed
  EXPECT_EQ(must(find_artefacts(path, "s")), old(path) / "s");
  open(path);
  EXPECT_TRUE(fs::exists(weights_of(path)));
  EXPECT_FALSE(fs::exists(old(path)));
}

TEST_F(Artefacts, ThatTwoDatabasesMayHaveWrittenAreLeftToTheUser) {
  const fs::path path = make_old("results.v1");
  fs::remove_all(own(make("results.v2")));  // as an older detol left it, too
  expect_refused(path, "results.d may hold checkpoints of " + path.string() + " or of ");
  const auto ledger = Ledger::open(path);
  ASSERT_FALSE(ledger);
  const std::string& says = ledger.error().message;
  const std::size_t command = says.find("mv '");
  ASSERT_NE(command, std::string::npos) << says;
  EXPECT_TRUE(fs::exists(old(path) / "s"));
  ASSERT_EQ(std::system(says.substr(command).c_str()), 0);  // NOLINT(concurrency-mt-unsafe)
  open(path);
  EXPECT_EQ(must(read_file(weights_of(path))), "results.v1");
}

TEST_F(Artefacts, OfAnOlderDetolAreNotThoseOfADatabaseThatHasAFolder) {
  const fs::path path = make_old("results.v1");
  make("results.v2");
  open(path);
  EXPECT_EQ(must(read_file(weights_of(path))), "results.v1");
}

TEST_F(Artefacts, NothingIsTakenForThemThatHasOnlyTheirName) {
  write(folder_ / "conf.d" / "mine", "precious");
  make("conf.db");
  EXPECT_EQ(must(read_file(folder_ / "conf.d" / "mine")), "precious");
  write(folder_ / "new.db.d" / "mine", "precious");
  expect_refused(folder_ / "new.db", "new.db.d belongs to another database");
  EXPECT_FALSE(fs::exists(folder_ / "new.db"));
}

TEST_F(Artefacts, OfADatabaseThatIsGoneSayHowToBeginAfresh) {
  const fs::path path = make("detol.db");
  for (const char* tail : {"", "-wal", "-shm"}) fs::remove(path.string() + tail);
  expect_refused(path, "detol.db.d is left from a database that is not there any more");
  expect_refused(path, "rm -r '" + own(path).string() + "'");
  expect_refused(path, "there is no backup of it here");
  fs::remove_all(own(path));
  open(path);
}

TEST_F(Artefacts, AreFoundThroughALinkToTheDatabase) {
  const fs::path path = make("detol.db");
  fs::create_directory(folder_ / "elsewhere");
  fs::create_symlink("../detol.db", folder_ / "elsewhere" / "link.db");
  open(folder_ / "elsewhere" / "link.db");
  EXPECT_TRUE(fs::exists(weights_of(folder_ / "elsewhere" / "link.db")));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "elsewhere"), {}), 1);
}

TEST_F(Artefacts, CheckpointsThatAreSharedAlreadyAreSharedAgainWithoutHarm) {
  write(folder_ / "3" / "best.ckpt", "weights");
  write(folder_ / "3" / "log.txt", "a trial's own");
  for (int times = 0; times < 2; ++times)
    ASSERT_TRUE(share_checkpoints(folder_ / "3", folder_ / "9")) << times;
  EXPECT_EQ(must(read_file(folder_ / "9" / "best.ckpt")), "weights");
  EXPECT_FALSE(fs::exists(folder_ / "9" / "log.txt"));
}

}  // namespace
}  // namespace detol
