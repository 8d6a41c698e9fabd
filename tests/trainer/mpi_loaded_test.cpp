// A program that is not linked to MPI, and loads what is when it is asked for. CMakeLists.txt puts
// one copy of it beside libdetol_mpi.so, and one elsewhere.

#include <gtest/gtest.h>

#include "trainer/collectives/mpi_group.h"

namespace detol {
namespace {

TEST(LoadedMpi, IsThatBesideTheProgram) {
  EXPECT_NE(mpi_name(), "");
}

TEST(LoadedMpi, IsMissedWithAReasonAndARemedy) {
  EXPECT_EQ(mpi_name(), "");
  const auto group = join_mpi_group();
  ASSERT_FALSE(group);
  EXPECT_NE(group.error().message.find("libdetol_mpi.so"), std::string::npos);
  EXPECT_NE(group.error().message.find("--group-size 1"), std::string::npos);
  leave_mpi();  // of what was never started
}

}  // namespace
}  // namespace detol
