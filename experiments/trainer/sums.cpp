// Measures a sum over n ranks by trainer/collectives/mpi_sum.h, by a ring (reduce-scatter, then
// allgather: 2 (n - 1) rounds with the neighbours; Patarasuk and Yuan, 2009) and by recursive
// doubling (a tree: log2 n rounds with all values; n is a power of two), in microseconds: the least
// of 200 sums by each, taken in turn:
//
//   cmake --build build/check --target trainer_sums && mpiexec -n 4 build/check/bin/trainer_sums
//
// Ring and tree spin while they wait inside MPI, and each adds up in an order of its
// own, so that their sums may differ in the last bits.

#include <algorithm>
#include <cstdio>
#include <vector>

#include <mpi.h>

#include "trainer/collectives/mpi_sum.h"

namespace {

using Floats = std::vector<float>;

int rank, ranks;

void by_rank_sum(Floats& values) {
  static detol::RankSum<float> sum(MPI_COMM_WORLD);
  static std::size_t number = 0;
  sum.start(values, ++number);
  while (!sum.advance()) {
  }
}

void exchange(std::span<const float> out, int to, std::span<float> in, int from) {
  MPI_Sendrecv(out.data(), static_cast<int>(out.size()), MPI_FLOAT, to, 0, in.data(),
               static_cast<int>(in.size()), MPI_FLOAT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void by_ring(Floats& values) {
  static Floats received;
  received.resize(values.size());
  const std::size_t each = values.size() / static_cast<std::size_t>(ranks);
  const auto part = [&](int of) {
    return std::span(values).subspan(static_cast<std::size_t>((of + 2 * ranks) % ranks) * each,
                                     each);
  };
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  for (int round = 0; round < ranks - 1; ++round) {
    exchange(part(rank - round), next, std::span(received).first(each), before);
    const std::span<float> sum = part(rank - round - 1);
    for (std::size_t i = 0; i < each; ++i) sum[i] += received[i];
  }
  for (int round = 0; round < ranks - 1; ++round)
    exchange(part(rank - round + 1), next, part(rank - round), before);
}

void by_doubling(Floats& values) {
  static Floats received;
  received.resize(values.size());
  for (int far = 1; far < ranks; far *= 2) {
    exchange(values, rank ^ far, received, rank ^ far);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += received[i];
  }
}

double microseconds(void (*way)(Floats&), Floats& values) {
  std::fill(values.begin(), values.end(), 1.0F);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  way(values);
  const double took = 1e6 * (MPI_Wtime() - start);
  if (values[0] != static_cast<float>(ranks) || values.back() != values[0]) std::puts("wrong");
  return took;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) std::printf("| bytes | mpi_sum | ring | doubling |, %d ranks\n", ranks);
  for (const std::size_t floats : {240u, 4080u, 32640u, 65280u, 274560u, 1000080u}) {
    Floats values(floats);
    double least[3] = {1e9, 1e9, 1e9};
    for (int i = 0; i < 200; ++i) {
      least[0] = std::min(least[0], microseconds(by_rank_sum, values));
      least[1] = std::min(least[1], microseconds(by_ring, values));
      if ((ranks & (ranks - 1)) == 0)
        least[2] = std::min(least[2], microseconds(by_doubling, values));
    }
    if (rank == 0)
      std::printf("| %zu | %.0f | %.0f | %.0f |\n", 4 * floats, least[0], least[1], least[2]);
  }
  MPI_Finalize();
}
