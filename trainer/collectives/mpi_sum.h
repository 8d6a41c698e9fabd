#pragma once

// RankSum: one sum over the ranks of a communicator, without blocking the caller, by point-to-point
// messages. Private to mpi_group.cpp.
//
// Every addition is in the order of the ranks, so that the bits depend only on the values and the
// number of ranks: not on the MPI, on how the values are divided into sums, on which of two
// algorithms computes a sum, or on the order of arrival.
//
//   whole   every rank sends all values to every rank and adds them up: one round, for few values
//           of few ranks (sum_traffic.h)
//   parts   rank r owns the r-th part, receives that part of every rank, adds it up and sends the
//           result to every rank: two rounds, the least traffic that a sum needs
//
// A ring or a chain in the order of the ranks sends no less, in as many rounds as there are ranks.
// Halves are added up in single precision, by both algorithms in the same order, and rounded once.

#include <cstddef>
#include <span>
#include <vector>

#include <mpi.h>

namespace detol::inline trainer {

template <typename Real>  // float, double or Half
class RankSum {
 public:
  explicit RankSum(MPI_Comm ranks);

  // Begins to replace the values by their sum; the caller must not touch them until it is done. All
  // ranks give the same `number` to a sum, and different numbers to sums in flight at the same
  // time. REQUIRES: done().
  void start(std::span<Real> values, std::size_t number);

  // Continues the sum as far as messages have arrived; returns true if it is done.
  bool advance();
  bool done() const { return stage_ == Stage::kDone; }

 private:
  enum class Stage { kDone, kCollecting, kDistributing };

  std::span<Real> chunk_of(int rank) const;
  std::span<Real> received_from(int rank);
  void send(std::span<const Real> values, int to);
  void receive(std::span<Real> values, int from);
  void add_up();
  void distribute();
  // Calls action(rank) for every other rank, the next one first, so that not all begin with rank 0.
  template <typename Action>
  void for_others(const Action& action) const;

  const MPI_Comm ranks_;
  int rank_ = 0, size_ = 1;
  Stage stage_ = Stage::kDone;
  bool whole_ = false;
  int tag_ = 0;
  std::span<Real> values_;
  std::vector<Real> received_;         // this rank's part of every rank's values
  std::vector<MPI_Request> requests_;  // of this stage
};

}  // namespace detol::inline trainer
