// No call blocks inside MPI, which would spin: every operation is non-blocking and polled, at first
// continuously, later after sleeping an eighth of the time waited so far, at most 5 ms. Sums in
// flight progress only when they are polled: MPI has no thread of its own.

#include "trainer/collectives/mpi_group.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
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

std::optional<int> number_in(const char* variable) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): never set here
  if (text == nullptr) return std::nullopt;
  const std::string_view view(text);
  int number = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), number);
  if (error != std::errc() || end != view.data() + view.size()) return std::nullopt;
  return number;
}

// Flavour holds the options that the launchers of a family of MPIs need on a single machine.
struct Flavour {
  std::string_view name;  // how mpi_name() begins
  std::vector<std::string_view> words;
  std::vector<std::string_view> environment;
};

// Returns the row of this MPI. More processes than cores are allowed and none is bound to a core,
// as candidates are trained side by side. One machine needs only the shared-memory transport, and
// no search for another. When a rank dies the others are killed at once: Open MPI would wait twice
// for a second.
const Flavour& flavour() {
  static const std::array<Flavour, 4> kFlavours = {{
      {"Open MPI v4",
       {"--bind-to", "none"},
       {"OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_pml=ob1", "OMPI_MCA_btl=self,vader",
        "OMPI_MCA_odls_base_sigkill_timeout=0"}},
      {"Open MPI",
       {"--bind-to", "none"},
       {"PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe", "OMPI_MCA_pml=ob1",
        "OMPI_MCA_btl=self,sm", "PRTE_MCA_odls_base_sigkill_timeout=0"}},
      {"MPICH", {"-bind-to", "none"}, {}},
      {"", {}, {}},
  }};
  const std::string name = mpi_name();
  return *std::ranges::find_if(kFlavours,
                               [&](const Flavour& row) { return name.starts_with(row.name); });
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

std::optional<MpiPlace> mpi_place() {
  constexpr const char* kNames[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                       {"PMI_RANK", "PMI_SIZE"},
                                       {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};  // srun --mpi=pmix
  for (const auto& [rank_name, size_name] : kNames) {
    const auto rank = number_in(rank_name), size = number_in(size_name);
    if (rank && size) return MpiPlace{*rank, *size};
  }
  return std::nullopt;
}

MpiLaunch mpi_launch(int ranks) {
  const Flavour& here = flavour();
  MpiLaunch launch{DETOL_MPIEXEC, {"-n", fmt::format("{}", ranks)}, {}};
  launch.words.insert(launch.words.end(), here.words.begin(), here.words.end());
  launch.environment.assign(here.environment.begin(), here.environment.end());
  if (geteuid() == 0 && here.name.starts_with("Open MPI")) {
    launch.environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT=1");
    launch.environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
  }
  return launch;
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
