#include "scheduler/launchers/rendezvous.h"

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::TempFolder;
using testing_support::write_bytes;

class Rendezvous : public testing::Test {
 protected:
  RendezvousInfo rendezvous(Reach reach) const {
    return rendezvous_info(folder.path(), reach).value();
  }
  std::string text() const { return read_file(file).value_or(""); }

  TempFolder folder;
  const fs::path file = folder.path() / "detol.db.workers-7.json";
};

TEST_F(Rendezvous, OfAJobOnOneMachineIsOnTheLoopbackDeviceAlone) {
  const RendezvousInfo here = rendezvous(Reach::kLoopback);
  EXPECT_EQ(tcp_endpoint_of(here).find("tcp://127.0.0.1:"), 0U);
  ASSERT_TRUE(publish(here, file));
  EXPECT_NE(text().find(R"("hosts":["127.0.0.1"])"), std::string::npos) << text();
}

TEST_F(Rendezvous, OfAJobOnSeveralMachinesIsOnEveryDevice) {
  EXPECT_EQ(tcp_endpoint_of(rendezvous(Reach::kNetwork)).find("tcp://*:"), 0U);
}

TEST_F(Rendezvous, OfAPlainSearchOpensNoPort) {
  const RendezvousInfo here = rendezvous(Reach::kSocket);
  EXPECT_EQ(tcp_endpoint_of(here), "");
  ASSERT_TRUE(publish(here, file));
  EXPECT_NE(text().find(R"("hosts":[])"), std::string::npos) << text();
}

TEST_F(Rendezvous, OfAnotherKindIsNone) {
  const std::string bomb(50'000, '[');
  for (const std::string& text :
       {std::string(R"({"port": "7000", "hosts": ["127.0.0.1"]})"),
        std::string(R"({"port": 1e300, "hosts": 5, "machine": 3, "socket": []})"),
        std::string(R"({"port": 70000, "hosts": ["127.0.0.1"]})"),
        std::string(R"({"port": -1, "hosts": [{}]})"), std::string("{\"key\": 5}"),
        std::string("[]"), bomb, "{\"hosts\":" + bomb}) {
    write_bytes(file, text);
    ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
    EXPECT_FALSE(master_now(file)) << text.substr(0, 80);
    (void)read_rendezvous(file);
    remove_published(folder.path(), file);
    EXPECT_TRUE(fs::exists(file)) << "it is not this run's";
  }
  write_bytes(file, R"({"group_size": "8", "takes_other_sizes": 1, "host": 5, "backend": []})");
  EXPECT_EQ(read_rendezvous(file)->group_size, 1);
  EXPECT_EQ(read_rendezvous(file)->host, "");
}

TEST_F(Rendezvous, IsRemovedByItsOwnRunAlone) {
  ASSERT_TRUE(publish(rendezvous(Reach::kSocket), file));
  const TempFolder other;
  ASSERT_TRUE(rendezvous_info(other.path(), Reach::kSocket));
  remove_published(other.path(), file);
  EXPECT_TRUE(fs::exists(file));
  remove_published(folder.path(), file);
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(Rendezvous, IsTheSameForEveryMasterOfARun) {
  const RendezvousInfo first = rendezvous(Reach::kLoopback), second = rendezvous(Reach::kLoopback);
  EXPECT_EQ(first.port, second.port);
  EXPECT_EQ(first.key, second.key);
  EXPECT_EQ(first.keys.server_secret, second.keys.server_secret);
}

TEST_F(Rendezvous, NobodyElseReadsTheKey) {
  ::umask(0);
  ASSERT_TRUE(publish(rendezvous(Reach::kLoopback), file));
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    const bool is_known = entry.path() == file || entry.path().filename() == "rendezvous.json";
    EXPECT_TRUE(is_known) << entry.path();
  }
}

// Another user may have put symlinks at the names that the key's file has or had.
TEST_F(Rendezvous, TheKeyIsWrittenThroughNothingThatWasPreparedForIt) {
  const TempFolder elsewhere;
  const fs::path prepared = elsewhere.path() / "prepared";
  write_bytes(prepared, "of a user");
  for (const char* suffix : {"", ".tmp"}) fs::create_symlink(prepared, file.string() + suffix);
  ASSERT_TRUE(publish(rendezvous(Reach::kLoopback), file));
  EXPECT_EQ(read_file(prepared).value(), "of a user");
  EXPECT_FALSE(fs::is_symlink(file));
  EXPECT_NE(text().find("key"), std::string::npos);
}

TEST_F(Rendezvous, WhatAnotherUserWroteIsNoInvitation) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  write_bytes(file, R"({"over": true})");
  ASSERT_EQ(::chown(file.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(is_rendezvous_file(file));
  ASSERT_EQ(::chown(file.c_str(), 0, 0), 0);
  EXPECT_TRUE(is_rendezvous_file(file));
}

}  // namespace
}  // namespace detol
