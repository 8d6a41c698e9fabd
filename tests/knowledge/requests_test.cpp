// Requests to whoever runs a study, as files.

#include "knowledge/requests.h"

#include <gtest/gtest.h>

#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

using testing_support::TempFolder;
using testing_support::write_bytes;

TEST(Requests, AreReadAsTheyWereMadeUntilTheyAreRemoved) {
  const TempFolder folder;
  const std::vector<RunRequest> all = {{RunRequest::kStop},
                                       {RunRequest::kPrune, 2},
                                       {RunRequest::kPrune, 11},
                                       {RunRequest::kRetry, 7},
                                       {RunRequest::kBudget, 0, "3cpu-h"}};
  const auto study = folder.path() / "db.d" / "s";
  for (const RunRequest& request : all)
    EXPECT_TRUE(is_request(make_request(study, request).value()));
  EXPECT_TRUE(make_request(study, all[1])) << "asked twice is asked once";
  EXPECT_EQ(requests_in(study), all);
  for (const RunRequest& request : all) remove_request(study, request);
  EXPECT_TRUE(requests_in(study).empty());
}

TEST(Requests, OnlyOneChangeOfTheBudgetWaits) {
  const TempFolder folder;
  ASSERT_TRUE(make_request(folder.path(), {RunRequest::kBudget, 0, "2h"}));
  const auto second = make_request(folder.path(), {RunRequest::kBudget, 0, "3h"});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUsage);
  EXPECT_EQ(requests_in(folder.path()).front().budget, "2h");
}

TEST(Requests, AreNoOtherFiles) {
  const TempFolder folder;
  for (const char* name :
       {"prune-requested-", "prune-requested-x", "prune-requested-1x", "retry-requested--1",
        "stop-requested.tmp", "workers.json", "7", "prune-requested-007", "retry-requested-00"}) {
    write_bytes(folder.path() / name, "");
    EXPECT_FALSE(is_request(folder.path() / name)) << name;
  }
  EXPECT_TRUE(requests_in(folder.path()).empty());
  EXPECT_TRUE(requests_in(folder.path() / "nowhere").empty());
}

TEST(Requests, OfABudgetAreShortOrNone) {
  const TempFolder folder;
  write_bytes(folder.path() / "budget-requested", std::string(1'000'000, '9') + "h");
  const auto requests = requests_in(folder.path());
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].budget, "unreadable, or longer than 1000 bytes");
  remove_request(folder.path(), requests[0]);
  EXPECT_TRUE(requests_in(folder.path()).empty());
}

TEST(Requests, AreNoFolders) {
  const TempFolder folder;
  write_bytes(folder.path() / "budget-requested" / "file", "");
  EXPECT_TRUE(requests_in(folder.path()).empty());
}

}  // namespace
}  // namespace detol
