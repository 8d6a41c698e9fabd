#include "trainer/collectives/mpi_sum.h"

#include <algorithm>
#include <cassert>

#include "core/half.h"
#include "trainer/collectives/sum_traffic.h"

namespace detol::inline trainer {
namespace {

// A count in MPI is an int.
constexpr std::size_t kMostValues = std::size_t{1} << 30;

// Every MPI allows tags up to 32767; each number takes two, one per stage.
constexpr std::size_t kNumbers = 16000;

template <typename Real>
MPI_Datatype type_of() {
  if (sizeof(Real) == sizeof(Half)) return MPI_UINT16_T;
  return sizeof(Real) == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE;
}

// Adds up the runs of sum.size() values in `all`, in their order.
template <typename Real>
void add_runs(std::span<const Real> all, std::span<Real> sum) {
  if (sum.empty()) return;
  std::ranges::copy(all.first(sum.size()), sum.begin());
  for (all = all.subspan(sum.size()); !all.empty(); all = all.subspan(sum.size())) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += all[i];
  }
}

void add_runs(std::span<const Half> all, std::span<Half> sum) {
  if (!sum.empty()) add_halves(all, all.size() / sum.size(), sum);
}

}  // namespace

template <typename Real>
RankSum<Real>::RankSum(MPI_Comm ranks) : ranks_(ranks) {
  MPI_Comm_rank(ranks, &rank_);
  MPI_Comm_size(ranks, &size_);
}

template <typename Real>
void RankSum<Real>::start(std::span<Real> values, std::size_t number) {
  assert(done() && values.size() <= kMostValues);
  values_ = values;
  whole_ = is_one_round(values.size(), size_);
  tag_ = static_cast<int>(number % kNumbers * 2);
  const std::span<Real> own = chunk_of(rank_);
  received_.resize(own.size() * static_cast<std::size_t>(size_));
  for_others([&](int other) { receive(received_from(other), other); });
  for_others([&](int other) { send(chunk_of(other), other); });
  std::ranges::copy(own, received_from(rank_).begin());
  stage_ = Stage::kCollecting;
}

template <typename Real>
bool RankSum<Real>::advance() {
  while (!done()) {
    int arrived = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &arrived,
                MPI_STATUSES_IGNORE);
    if (arrived == 0) return false;
    requests_.clear();
    if (stage_ == Stage::kCollecting) add_up();
    const bool complete = whole_ || stage_ == Stage::kDistributing;
    stage_ = complete ? Stage::kDone : Stage::kDistributing;
    if (!complete) distribute();
  }
  return true;
}

template <typename Real>
std::span<Real> RankSum<Real>::chunk_of(int rank) const {
  if (whole_) return values_;
  const auto ranks = static_cast<std::size_t>(size_), at = static_cast<std::size_t>(rank);
  const std::size_t each = values_.size() / ranks, rest = values_.size() % ranks;
  return values_.subspan(at * each + std::min(at, rest), each + (at < rest ? 1 : 0));
}

template <typename Real>
std::span<Real> RankSum<Real>::received_from(int rank) {
  const std::size_t each = received_.size() / static_cast<std::size_t>(size_);
  return std::span(received_).subspan(static_cast<std::size_t>(rank) * each, each);
}

template <typename Real>
void RankSum<Real>::send(std::span<const Real> values, int to) {
  MPI_Isend(values.data(), static_cast<int>(values.size()), type_of<Real>(), to, tag_, ranks_,
            &requests_.emplace_back());
}

template <typename Real>
void RankSum<Real>::receive(std::span<Real> values, int from) {
  MPI_Irecv(values.data(), static_cast<int>(values.size()), type_of<Real>(), from, tag_, ranks_,
            &requests_.emplace_back());
}

template <typename Real>
void RankSum<Real>::add_up() {
  add_runs(std::span<const Real>(received_), chunk_of(rank_));
}

template <typename Real>
void RankSum<Real>::distribute() {
  ++tag_;
  for_others([&](int other) { receive(chunk_of(other), other); });
  for_others([&](int other) { send(chunk_of(rank_), other); });
}

template <typename Real>
template <typename Action>
void RankSum<Real>::for_others(const Action& action) const {
  for (int ahead = 1; ahead < size_; ++ahead) action((rank_ + ahead) % size_);
}

template class RankSum<float>;
template class RankSum<double>;
template class RankSum<Half>;

}  // namespace detol::inline trainer
