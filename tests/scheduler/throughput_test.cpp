#include "bench/throughput.h"

#include <gtest/gtest.h>

#include "knowledge/query.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

TEST(Throughput, CountsReportsThatAreDurable) {
  const testing_support::TempFolder folder;
  const auto measured = measure_throughput({.peers = 3, .reports = 400, .folder = folder.path()});
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_GT(measured->per_second, 0);
  EXPECT_GT(measured->master_s, 0);
  const auto reader = Reader::open(folder.path() / "detol.db").value();
  const auto rows = reader->select("SELECT count(*) FROM v_metrics WHERE name = 'val_loss'").value();
  EXPECT_EQ(std::get<std::int64_t>(rows.rows.at(0).at(0)), 400);
}

}  // namespace
}  // namespace detol
