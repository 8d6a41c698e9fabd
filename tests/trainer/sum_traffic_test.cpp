// What a rank really hands to MPI is what the arithmetic of sum_traffic.h says. MPI_Isend is
// defined here, as MPI's own interface for profilers allows: it counts, and calls MPI's.

#include "trainer/collectives/sum_traffic.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "tests/trainer/mpi_test.h"
#include "trainer/collectives/gradient_sums.h"

namespace {

std::size_t bytes_sent = 0;

}  // namespace

extern "C" int MPI_Isend(const void* values, int count, MPI_Datatype type, int to, int tag,
                         MPI_Comm ranks, MPI_Request* request) {
  int size = 0;
  MPI_Type_size(type, &size);
  bytes_sent += static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
  return PMPI_Isend(values, count, type, to, tag, ranks, request);
}

namespace detol {
namespace {

// Returns the bytes that this rank sends in a step of one bucket.
std::size_t bytes_of_step(const char* compression, std::size_t floats) {
  const GradientBucket all[] = {{0, floats}};
  GradientSums sums({.compression = compression}, ranks(), all);
  std::vector<float> gradients(floats, 1);
  bytes_sent = 0;
  sums.start_next(gradients);
  EXPECT_TRUE(sums.finish(gradients));
  EXPECT_EQ(gradients.back(), static_cast<float>(ranks().size()));
  return bytes_sent;
}

TEST(SumTraffic, IsWhatASumHandsToMpi) {
  for (const std::size_t floats : {1u, 5u, 16384u, 16385u, 32768u, 32769u, 100000u}) {
    const std::size_t values = values_sent_by_sum(floats, ranks().size());
    const std::size_t plain = bytes_of_step("none", floats), halves = bytes_of_step("fp16", floats);
    EXPECT_LE(plain, values * sizeof(float)) << floats;
    if (ranks().rank() == 0) EXPECT_EQ(plain, values * sizeof(float)) << floats;
    EXPECT_EQ(halves * 2, plain) << floats;
  }
}

}  // namespace
}  // namespace detol
