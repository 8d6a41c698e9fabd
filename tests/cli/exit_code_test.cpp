#include "core/exit_code.h"

#include <vector>

#include <gtest/gtest.h>

namespace detol {
namespace {

struct Row {
  ErrorCode code;
  int exit;
};

TEST(ExitCode, IsTheDocumentedNumberOfEveryErrorCode) {
  const std::vector<Row> table = {
      {ErrorCode::kInternal, 1}, {ErrorCode::kUsage, 2},    {ErrorCode::kInput, 3},
      {ErrorCode::kStudy, 4},    {ErrorCode::kStorage, 5},  {ErrorCode::kEmpty, 6},
      {ErrorCode::kExport, 7},   {ErrorCode::kFailures, 8}, {ErrorCode::kInterrupted, 75},
  };
  for (const Row& row : table) EXPECT_EQ(exit_code_of(row.code), row.exit);
}

}  // namespace
}  // namespace detol
