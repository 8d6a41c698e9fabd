// A sum is made the same way everywhere: rank r owns the r-th part of the values, receives that
// part of everybody, adds them up in the order of the ranks, and sends the result to all. Two
// messages per pair of ranks, the least traffic a sum needs, and its bits depend on the values
// and the number of ranks alone: not on the MPI, the network or who came first.
//
// Nothing blocks inside MPI, which would spin: every call is started, then looked at, at first all
// the time, later after sleeping an eighth of what was waited already, at most 5 ms.

#include "trainer/mpi_group.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <mpi.h>

namespace detol {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSpin = std::chrono::microseconds(200);
constexpr auto kLongestSleep = std::chrono::milliseconds(5);

// Of one message; a count in MPI is an int.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

void wait(MPI_Request& request) {
  const Clock::time_point start = Clock::now();
  int done = 0;
  for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); done == 0;
       MPI_Test(&request, &done, MPI_STATUS_IGNORE)) {
    const Clock::duration waited = Clock::now() - start;
    if (waited < kSpin) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::min<Clock::duration>(waited / 8, kLongestSleep));
    }
  }
}

template <typename Real>
MPI_Datatype type_of() {
  return sizeof(Real) == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE;
}

class MpiGroup final : public Group {
 public:
  explicit MpiGroup(MPI_Comm ranks) : ranks_(ranks) {
    MPI_Comm_rank(ranks, &rank_);
    MPI_Comm_size(ranks, &size_);
    counts_.resize(static_cast<std::size_t>(size_));
    offsets_ = own_counts_ = own_offsets_ = counts_;
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void sum(std::span<float> values) override { add_up(values, floats_); }
  void sum(std::span<double> values) override { add_up(values, doubles_); }

  std::string share(std::string bytes, int from) override {
    std::uint64_t size = bytes.size();
    broadcast({reinterpret_cast<char*>(&size), sizeof size}, from);
    bytes.resize(size);
    broadcast(bytes, from);
    return bytes;
  }

 private:
  void broadcast(std::span<char> bytes, int from) {
    while (!bytes.empty()) {
      const std::size_t count = std::min(bytes.size(), kMostBytes);
      MPI_Request request;
      MPI_Ibcast(bytes.data(), static_cast<int>(count), MPI_BYTE, from, ranks_, &request);
      wait(request);
      bytes = bytes.subspan(count);
    }
  }

  template <typename Real>
  void add_up(std::span<Real> values, std::vector<Real>& received) {
    assert(values.size() <= kMostBytes);
    divide(static_cast<int>(values.size()));
    const auto own = static_cast<std::size_t>(rank_);
    const std::span<Real> part = values.subspan(static_cast<std::size_t>(offsets_[own]),
                                                static_cast<std::size_t>(counts_[own]));
    received.resize(part.size() * counts_.size());
    collect<Real>(values, received);
    for (std::size_t i = 0; i < part.size(); ++i) {
      part[i] = received[i];
      for (std::size_t r = 1; r < counts_.size(); ++r) part[i] += received[r * part.size() + i];
    }
    distribute<Real>(values);
  }

  // Which part of the values each rank owns, and where this rank puts what it receives.
  void divide(int values) {
    const int whole = values / size_, rest = values % size_;
    const int own = whole + (rank_ < rest ? 1 : 0);
    for (int r = 0; r < size_; ++r) {
      const auto at = static_cast<std::size_t>(r);
      counts_[at] = whole + (r < rest ? 1 : 0);
      offsets_[at] = r * whole + std::min(r, rest);
      own_counts_[at] = own;
      own_offsets_[at] = r * own;
    }
  }

  // This rank's part of every rank's values.
  template <typename Real>
  void collect(std::span<const Real> values, std::span<Real> received) {
    MPI_Request request;
    MPI_Ialltoallv(values.data(), counts_.data(), offsets_.data(), type_of<Real>(), received.data(),
                   own_counts_.data(), own_offsets_.data(), type_of<Real>(), ranks_, &request);
    wait(request);
  }

  // Every rank's part of the sum.
  template <typename Real>
  void distribute(std::span<Real> values) {
    MPI_Request request;
    MPI_Iallgatherv(MPI_IN_PLACE, 0, type_of<Real>(), values.data(), counts_.data(),
                    offsets_.data(), type_of<Real>(), ranks_, &request);
    wait(request);
  }

  const MPI_Comm ranks_;
  int rank_ = 0, size_ = 1;
  std::vector<int> counts_, offsets_, own_counts_, own_offsets_;  // by rank
  std::vector<float> floats_;
  std::vector<double> doubles_;
};

// FUNNELED: this thread alone calls MPI, others may exist.
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
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  if (text == nullptr) return std::nullopt;
  const std::string_view view(text);
  int number = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), number);
  if (error != std::errc() || end != view.data() + view.size()) return std::nullopt;
  return number;
}

// What the launchers of a family of MPIs want to be told on a single machine.
struct Flavour {
  std::string_view name;  // how mpi_name() begins
  std::vector<std::string_view> words;
  std::vector<std::string_view> environment;
};

// More processes than cores are allowed and none is bound to a core: candidates are trained side
// by side. One machine needs no other transport than shared memory, and no search for one. When
// a rank dies the others follow at once: Open MPI would wait twice for a second.
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
                                       {"PMI_RANK", "PMI_SIZE"}};
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

}  // namespace detol
