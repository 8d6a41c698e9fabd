#include "scheduler/processes/marked_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::TempFolder;

class MarkedFolderTest : public testing::Test {
 protected:
  MarkedFolder make() const { return std::move(*MarkedFolder::make(place.path())); }

  // Returns the reason why no folder is made in the place.
  std::string refusal() const {
    const auto folder = MarkedFolder::make(place.path());
    return folder ? "" : folder.error().message;
  }

  // Leaves a folder with a file in it, as a killed process does, and returns its path.
  fs::path leave_behind() const {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto folder = MarkedFolder::make(place.path());
      fs::create_directories(folder->path() / "deeper");
      std::ofstream(folder->path() / "deeper" / "file") << "something";
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    for (const auto& entry : fs::directory_iterator(parent())) return entry.path();
    return {};
  }

  fs::path parent() const { return place.path() / fmt::format("detol-{}", ::geteuid()); }

  // A folder with a file in it.
  static fs::path with_file(const fs::path& folder, const std::string& file = "results") {
    fs::create_directories(folder);
    std::ofstream(folder / file) << "of a user";
    return folder;
  }

  const TempFolder place;
};

TEST_F(MarkedFolderTest, IsOfThisUserAlone) {
  const MarkedFolder folder = make();
  for (const fs::path& path : {folder.path(), parent()})
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all) << path;
}

TEST_F(MarkedFolderTest, OfAKilledProcessIsRemovedByTheNext) {
  const fs::path left = leave_behind();
  ASSERT_TRUE(fs::exists(left / "deeper" / "file"));
  const MarkedFolder folder = make();
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(MarkedFolderTest, OfAProcessKilledWhileItMadeOrRemovedItIsRemovedByTheNext) {
  fs::create_directories(parent());
  fs::permissions(parent(), fs::perms::owner_all);
  const fs::path unmarked = parent() / "run-0123456789ab", half_marked = parent() / "run-ba987654";
  fs::create_directory(unmarked);
  fs::create_directory(half_marked);
  std::ofstream(half_marked / "marker").close();
  const fs::path used = with_file(parent() / "run-123456789abc");
  std::ofstream(used / "marker").close();
  { const MarkedFolder folder = make(); }
  EXPECT_FALSE(fs::exists(unmarked));
  EXPECT_FALSE(fs::exists(half_marked));
  EXPECT_TRUE(fs::exists(used / "results"));
  EXPECT_TRUE(fs::exists(used / "marker"));
}

TEST_F(MarkedFolderTest, OfALivingProcessStays) {
  const MarkedFolder first = make();
  const MarkedFolder second = make();
  EXPECT_TRUE(fs::exists(first.path()));
  EXPECT_NE(first.path(), second.path());
}

TEST_F(MarkedFolderTest, AUsersFolderStaysWhateverItsName) {
  std::vector<fs::path> theirs;
  for (const char* name : {"detol-2024-results", "detol-7-x", "detol-1-abcdef", "run-1"})
    theirs.push_back(with_file(place.path() / name));
  const fs::path left = leave_behind();
  const std::string name = left.filename();
  for (const char* other : {"results", "run-", "run-0123456789ab"})
    theirs.push_back(with_file(parent() / other));
  theirs.push_back(with_file(parent() / "run-ba9876543210", "marker"));
  fs::copy(left, parent() / "copy", fs::copy_options::recursive);
  fs::copy(left, parent() / (name.substr(0, name.size() - 1) + "x"), fs::copy_options::recursive);
  theirs.push_back(parent() / "copy");
  theirs.push_back(parent() / (name.substr(0, name.size() - 1) + "x"));
  { const MarkedFolder folder = make(); }
  EXPECT_FALSE(fs::exists(left));
  for (const fs::path& path : theirs) EXPECT_FALSE(fs::is_empty(path)) << path;
}

TEST_F(MarkedFolderTest, ASymlinkIsNeverFollowed) {
  const TempFolder elsewhere;
  const fs::path target = with_file(elsewhere.path() / "target");
  const fs::path left = leave_behind();
  fs::create_directory_symlink(target, left / "link");
  // A folder with a sound marker that is in the parent only through a symlink.
  fs::create_directory_symlink(left, parent() / "run-0123456789ab");
  std::ofstream(target / "marker") << "detol run-ba9876543210\n";
  fs::create_directory_symlink(target, parent() / "run-ba9876543210");
  const MarkedFolder folder = make();
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(target / "results"));
}

TEST_F(MarkedFolderTest, AParentThatIsASymlinkIsRefused) {
  const TempFolder elsewhere;
  fs::create_directory_symlink(elsewhere.path(), parent());
  EXPECT_NE(refusal().find("no folder of this user alone"), std::string::npos) << refusal();
  EXPECT_TRUE(fs::is_empty(elsewhere.path()));
}

TEST_F(MarkedFolderTest, AParentThatOthersMayUseIsRefused) {
  fs::create_directory(parent());
  fs::permissions(parent(), fs::perms::owner_all | fs::perms::others_exec);
  EXPECT_NE(refusal().find("no folder of this user alone"), std::string::npos) << refusal();
}

TEST_F(MarkedFolderTest, AParentOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  fs::create_directory(parent());
  fs::permissions(parent(), fs::perms::owner_all);
  ASSERT_EQ(::chown(parent().c_str(), 12345, 12345), 0);
  EXPECT_NE(refusal().find("no folder of this user alone"), std::string::npos) << refusal();
}

TEST_F(MarkedFolderTest, APlaceInWhichOthersMayRenameIsRefused) {
  fs::permissions(place.path(), fs::perms::all);
  EXPECT_NE(refusal().find("other users may rename"), std::string::npos) << refusal();
  fs::permissions(place.path(), fs::perms::all | fs::perms::sticky_bit);
  EXPECT_EQ(refusal(), "");
}

TEST_F(MarkedFolderTest, TheParentStaysWhileAnotherFolderIsInIt) {
  const MarkedFolder first = make();
  { const MarkedFolder second = make(); }
  EXPECT_TRUE(fs::exists(first.path() / "marker"));
}

}  // namespace
}  // namespace detol
