// No call blocks inside MPI, which would spin: every operation is non-blocking and polled, at first
// continuously, later after sleeping an eighth of the time waited so far, at most 5 ms. Sums in
// flight progress only when they are polled: MPI has no thread of its own.

#include "trainer/collectives/mpi_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <list>
#include <string_view>
#include <thread>

#include <mpi.h>

#include "trainer/collectives/mpi_sum.h"

namespace detol::inline trainer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSpin = std::chrono::microseconds(200);
constexpr auto kLongestSleep = std::chrono::milliseconds(5);

// Limits one message, since a count in MPI is an int.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

// Waits until `done` returns true.
template <typename Done>
void wait_for(const Done& done) {
  const Clock::time_point start = Clock::now();
  while (!done()) {
    const Clock::duration waited = Clock::now() - start;
    if (waited < kSpin) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::min<Clock::duration>(waited / 8, kLongestSleep));
    }
  }
}

void wait(MPI_Request& request) {
  wait_for([&] {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
}

// Sums holds the sums of one type and reuses them, as each step makes the same sums as the one
// before.
template <typename Real>
class Sums {
 public:
  explicit Sums(MPI_Comm ranks) : ranks_(ranks) {}

  void start(std::span<Real> values, Group::Ticket ticket) {
    auto idle = std::ranges::find_if(all_, [](const Sum& one) { return one.sum.done(); });
    if (idle == all_.end()) idle = all_.emplace(idle, Sum{RankSum<Real>(ranks_), 0});
    idle->ticket = ticket;
    idle->sum.start(values, ticket);
  }

  void advance() {
    for (Sum& one : all_) one.sum.advance();
  }

  bool busy(Group::Ticket first, Group::Ticket last) const {
    return std::ranges::any_of(all_, [&](const Sum& one) {
      return first <= one.ticket && one.ticket <= last && !one.sum.done();
    });
  }

 private:
  struct Sum {
    RankSum<Real> sum;
    Group::Ticket ticket = 0;
  };
  const MPI_Comm ranks_;
  std::list<Sum> all_;
};

// Gathers holds the gather operations, and reuses them likewise.
class Gathers {
 public:
  explicit Gathers(MPI_Comm ranks) : ranks_(ranks) {}

  // Starts a gather. REQUIRES: own.size() <= kMostBytes.
  void start(std::span<const std::byte> own, std::span<std::byte> all, Group::Ticket ticket) {
    auto idle = std::ranges::find(all_, MPI_REQUEST_NULL, &Gather::request);
    if (idle == all_.end()) idle = all_.emplace(idle);
    idle->ticket = ticket;
    const auto count = static_cast<int>(own.size());
    MPI_Iallgather(own.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, ranks_,
                   &idle->request);
  }

  void advance() {
    int done = 0;  // unused: the request becomes MPI_REQUEST_NULL
    for (Gather& one : all_) MPI_Test(&one.request, &done, MPI_STATUS_IGNORE);
  }

  bool busy(Group::Ticket first, Group::Ticket last) const {
    return std::ranges::any_of(all_, [&](const Gather& one) {
      return first <= one.ticket && one.ticket <= last && one.request != MPI_REQUEST_NULL;
    });
  }

 private:
  struct Gather {
    MPI_Request request = MPI_REQUEST_NULL;
    Group::Ticket ticket = 0;
  };
  const MPI_Comm ranks_;
  std::list<Gather> all_;
};

class MpiGroup final : public Group {
 public:
  explicit MpiGroup(MPI_Comm ranks)
      : ranks_(ranks), floats_(ranks), doubles_(ranks), halves_(ranks), gathers_(ranks) {
    MPI_Comm_rank(ranks, &rank_);
    MPI_Comm_size(ranks, &size_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void sum(std::span<float> values) override { wait_in(floats_, start_sum(values)); }
  void sum(std::span<double> values) override { wait_in(doubles_, start_sum(values)); }
  void sum(std::span<Half> values) override { wait_in(halves_, start_sum(values)); }
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    wait_in(gathers_, start_gather(own, all));
  }

  Ticket start_sum(std::span<float> values) override {
    floats_.start(values, ++started_);
    return started_;
  }
  Ticket start_sum(std::span<double> values) override {
    doubles_.start(values, ++started_);
    return started_;
  }
  Ticket start_sum(std::span<Half> values) override {
    halves_.start(values, ++started_);
    return started_;
  }
  Ticket start_gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    gathers_.start(own, all, ++started_);
    return started_;
  }

  void advance() override {
    floats_.advance();
    doubles_.advance();
    halves_.advance();
    gathers_.advance();
  }

  void finish(Ticket last) override {
    wait_for([&] {
      advance();
      return !floats_.busy(0, last) && !doubles_.busy(0, last) && !halves_.busy(0, last) &&
             !gathers_.busy(0, last);
    });
  }

  std::string share(std::string bytes, int from) override {
    std::uint64_t size = bytes.size();
    broadcast({reinterpret_cast<char*>(&size), sizeof size}, from);
    bytes.resize(size);
    broadcast(bytes, from);
    return bytes;
  }

 private:
  // Waits for the operation of this ticket only, while others continue.
  template <typename Kind>
  void wait_in(const Kind& kind, Ticket ticket) {
    wait_for([&] {
      advance();
      return !kind.busy(ticket, ticket);
    });
  }

  void broadcast(std::span<char> bytes, int from) {
    while (!bytes.empty()) {
      const std::size_t count = std::min(bytes.size(), kMostBytes);
      MPI_Request request;
      MPI_Ibcast(bytes.data(), static_cast<int>(count), MPI_BYTE, from, ranks_, &request);
      wait(request);
      bytes = bytes.subspan(count);
    }
  }

  const MPI_Comm ranks_;
  int rank_ = 0, size_ = 1;
  Ticket started_ = 0;
  Sums<float> floats_;
  Sums<double> doubles_;
  Sums<Half> halves_;
  Gathers gathers_;
};

// Starts MPI. FUNNELED: only this thread calls MPI, others may exist.
Result<void> start_mpi() {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
    return fail(ErrorCode::kInternal, fmt::format("{} did not start", mpi_name()));
  }
  if (provided < MPI_THREAD_FUNNELED) {
    return fail(ErrorCode::kInternal,
                fmt::format("{} was built without support for threads", mpi_name()));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Group>> join_mpi_group() {
  DETOL_TRY(start_mpi());
  return std::make_unique<MpiGroup>(MPI_COMM_WORLD);
}

Result<std::unique_ptr<Group>> split_mpi_group(int colour) {
  DETOL_TRY(start_mpi());
  MPI_Comm ranks = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, colour, 0, &ranks);
  return std::make_unique<MpiGroup>(ranks);
}

void leave_mpi() {
  int started = 0;
  MPI_Initialized(&started);
  if (started == 0) return;
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  wait(request);
  MPI_Finalize();
}

std::string mpi_name() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view all(text.data(), static_cast<std::size_t>(length));
  std::string name(all.substr(0, all.find_first_of(",\n")));
  std::ranges::replace(name, '\t', ' ');
  return name;
}

}  // namespace detol::inline trainer
