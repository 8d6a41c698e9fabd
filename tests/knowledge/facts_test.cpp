// Facts: the first of a key stays, whatever happens to studies.

#include "knowledge/facts.h"

#include <fstream>

#include "core/file.h"
#include "knowledge/check.h"
#include "knowledge/exchange/merge.h"
#include "knowledge/studies.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::asked;
using testing_support::complete;
using testing_support::describe;
using testing_support::Folder;
using testing_support::must;
using testing_support::OneStudy;
using testing_support::reported;
using testing_support::started;
using testing_support::study_named;

using Facts = std::vector<Fact>;

const Fact kNetwork{kNetworkFact, "00112233445566aa",
                    R"({"graph":"1 3x8x8 p","params":12,"flops":34})"};
const Fact kHost{kHostFact, "0000000000000001",
                 R"({"name":"n","cpu":"c","cores":2,"memory":3,"gpus":["g"]})"};
const Fact kRun{kRunFact, "0000000000000002",
                R"({"study":"s","at":1700000000,"command":"search","version":"1.0","user":"u",)"
                R"("host":"0000000000000001","backend":"cpu","workers":2})"};
const Fact kDataset{kDatasetFact, "fedcba9876543210",
                    R"({"name":"digits","samples":100,"intrinsic_dimension":7.5})"};

std::string only_row(const fs::path& path, const std::string& sql) {
  const Rows rows = must(must(Reader::open(path))->select(sql));
  return rows.rows.size() == 1 ? describe(rows.rows.front()) : "no single row";
}

TEST(Facts, TheFirstOfAKeyStays) {
  OneStudy one;
  must(one.ledger->record_facts(Facts{kNetwork, kHost}));
  Fact other = kNetwork;
  other.payload = "{}";
  must(one.ledger->record_facts(Facts{other}));
  EXPECT_EQ(must(one.ledger->facts(kNetworkFact)), Facts{kNetwork});
  const auto reader = must(Reader::open(one.path));
  EXPECT_EQ(must(reader->facts("")), (Facts{kHost, kNetwork}));
  EXPECT_EQ(must(reader->fact(kNetworkFact, kNetwork.key)), kNetwork);
  EXPECT_EQ(must(reader->fact(kHostFact, kNetwork.key)), std::nullopt);
}

TEST(Facts, ComeWithTheEventsOrNotAtAll) {
  OneStudy one;
  must(one.ledger->append(one.study, std::vector<Event>{asked(0)}, Facts{kNetwork}));
  EXPECT_FALSE(one.ledger->append(99, std::vector<Event>{asked(1)}, Facts{kHost}));
  EXPECT_EQ(must(one.ledger->facts("")), Facts{kNetwork});
  EXPECT_EQ(one.events().size(), 1U);
}

TEST(Facts, OutliveTheirStudy) {
  OneStudy one;
  must(one.ledger->append(one.study, std::vector<Event>{asked(0)}, Facts{kNetwork}));
  one.ledger.reset();
  must(copy_study(one.path, "s", "t"));
  must(delete_study(one.path, "s"));
  EXPECT_EQ(must(must(Reader::open(one.path))->facts("")), Facts{kNetwork});
  EXPECT_EQ(must(check(one.path)), std::vector<std::string>{});
}

TEST(Facts, OfTwoDatabasesAreTheirUnion) {
  OneStudy one, two;
  must(one.ledger->record_facts(Facts{kHost}));
  must(two.ledger->record_facts(Facts{kHost, kNetwork}));
  one.ledger.reset();
  two.ledger.reset();
  for (int again = 0; again < 2; ++again) {
    must(merge(one.path, two.path));
    EXPECT_EQ(must(must(Reader::open(one.path))->facts("")), (Facts{kHost, kNetwork}));
  }
}

TEST(Facts, ADamagedOneIsFound) {
  OneStudy one;
  must(one.ledger->record_facts(Facts{kNetwork}));
  one.ledger.reset();
  std::string bytes = must(read_file(one.path));
  bytes[bytes.find("3x8x8")] = '4';
  std::ofstream(one.path, std::ios::binary) << bytes;
  const auto problems = must(check(one.path));
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].find("the network fact '00112233445566aa' is damaged"), std::string::npos)
      << problems[0];
  EXPECT_FALSE(must(Reader::open(one.path))->fact(kNetworkFact, kNetwork.key));
}

TEST(Facts, ThatABackupHasMoreAreMissed) {
  OneStudy one, other;
  must(one.ledger->record_facts(Facts{kNetwork, kHost}));
  must(other.ledger->record_facts(Facts{kHost}));
  one.ledger.reset();
  other.ledger.reset();
  EXPECT_EQ(must(compare(other.path, one.path)),
            std::vector<std::string>{"1 facts of the backup are missing"});
  EXPECT_EQ(must(compare(one.path, other.path)), std::vector<std::string>{});
}

TEST(Facts, TheViewsShowThem) {
  OneStudy one;
  one.append({asked(0), started(0, 1), reported(0, 1, 1, 0.5), reported(0, 1, 2, 0.6),
              complete(0, 0.6), asked(1), started(1, 1), reported(1, 1, 1, 0.5)});
  must(one.ledger->record_facts(Facts{kNetwork, kHost, kRun, kDataset}));
  EXPECT_EQ(only_row(one.path, "SELECT * FROM v_networks"), "00112233445566aa|12|34|1 3x8x8 p");
  EXPECT_EQ(only_row(one.path, "SELECT * FROM v_runs"),
            "0000000000000002|s|search|1700000000|2023-11-14T22:13:20Z|1.0|u|0000000000000001|n|"
            "cpu|2");
  EXPECT_EQ(
      only_row(one.path, "SELECT * FROM v_hosts"),
      R"(0000000000000001|n|c|2|3|["g"]|1|2023-11-14T22:13:20Z|2023-11-14T22:13:20Z|400000000)");
  EXPECT_EQ(only_row(one.path,
                     "SELECT dataset, studies, name, samples, intrinsic_dimension FROM v_datasets"),
            "fedcba9876543210|1|digits|100|7.5");
}

TEST(Facts, AHostsSpeedCountsTheSecondsOfEarlyReports) {
  OneStudy one;
  event::Reported early = reported(0, 1, 0, 0.3);
  early.part = 0.25;
  early.work = 2.5e8;
  early.step = 5;
  event::Reported whole = reported(0, 1, 1, 0.5);
  whole.step = 20;
  one.append({asked(0), started(0, 1), early, whole});
  must(one.ledger->record_facts(Facts{kHost, kRun}));
  EXPECT_EQ(only_row(one.path, "SELECT flops_per_second FROM v_hosts"), "200000000");
}

// The machine may have changed since its first study: only the newest counts.
TEST(Facts, AHostsSpeedIsThatOfItsNewestStudy) {
  OneStudy one;
  one.append({asked(0), started(0, 1), reported(0, 1, 1, 0.5)});
  const StudyId newer = must(one.ledger->create_study(study_named("newer")));
  event::Reported faster = reported(0, 1, 1, 0.5);
  faster.work *= 2;
  must(one.ledger->append(newer, std::vector<Event>{asked(0), started(0, 1), faster}));
  const Fact later{kRunFact, "0000000000000001",
                   R"({"study":"newer","at":1700000060,"host":"0000000000000001"})"};
  must(one.ledger->record_facts(Facts{kHost, later, kRun}));
  EXPECT_EQ(only_row(one.path, "SELECT runs, flops_per_second FROM v_hosts"), "2|800000000");
}

}  // namespace
}  // namespace detol
