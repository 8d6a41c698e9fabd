// The emulated NCCL connects threads and processes of one machine through shared memory. A sum is
// added up in the order of the ranks. A rank that waits for ranks that never come waits, as with
// the real one, until one aborts.

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>

#include <nccl.h>

#include "tests/support/cuda/memory.h"
#include "tests/support/cuda/state.h"
#include "tests/support/cuda/streams.h"

namespace detol::emulated {
namespace {

constexpr std::size_t kMostRanks = 16, kChunk = std::size_t{64} << 10;

// Meeting: the memory that the ranks share. ncclGetUniqueId makes it; the id is its name.
struct Meeting {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int arrived, joined;
  std::uint64_t round;
  bool is_aborted;
  std::array<std::array<char, 16>, kMostRanks> devices;  // of the ranks that joined
  alignas(64) std::array<std::array<std::byte, kChunk>, kMostRanks> chunks;
};

class Lock {
 public:
  explicit Lock(Meeting& meeting) : mutex_(&meeting.mutex) { pthread_mutex_lock(mutex_); }
  ~Lock() { pthread_mutex_unlock(mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  pthread_mutex_t* get() const { return mutex_; }

 private:
  pthread_mutex_t* mutex_;
};

Meeting* map(int file) {
  void* mapped = mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<Meeting*>(mapped);
}

// False: the host cannot create the memory.
bool make_meeting(const char* name) {
  const int file = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file < 0) return false;
  Meeting* meeting = ftruncate(file, sizeof(Meeting)) == 0 ? map(file) : nullptr;
  close(file);
  if (meeting == nullptr) return false;
  pthread_mutexattr_t for_mutex;
  pthread_mutexattr_init(&for_mutex);
  pthread_mutexattr_setpshared(&for_mutex, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&meeting->mutex, &for_mutex);
  pthread_condattr_t for_condition;
  pthread_condattr_init(&for_condition);
  pthread_condattr_setpshared(&for_condition, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&meeting->changed, &for_condition);
  munmap(meeting, sizeof(Meeting));
  return true;
}

// Clique: one rank's view of the ranks that share an id.
class Clique {
 public:
  Clique(Meeting* meeting, int ranks, int rank)
      : meeting_(meeting),
        ranks_(static_cast<std::size_t>(ranks)),
        rank_(static_cast<std::size_t>(rank)) {}
  ~Clique() { munmap(meeting_, sizeof(Meeting)); }
  Clique(const Clique&) = delete;
  Clique& operator=(const Clique&) = delete;

  std::size_t size() const { return ranks_; }
  std::size_t rank() const { return rank_; }

  // Waits until all ranks have called it. False: aborted.
  bool meet() {
    const Lock lock(*meeting_);
    const std::uint64_t round = meeting_->round;
    if (++meeting_->arrived == static_cast<int>(ranks_)) {
      meeting_->arrived = 0;
      ++meeting_->round;
      pthread_cond_broadcast(&meeting_->changed);
    }
    while (meeting_->round == round && !meeting_->is_aborted)
      pthread_cond_wait(&meeting_->changed, lock.get());
    return !meeting_->is_aborted;
  }

  void abort() {
    const Lock lock(*meeting_);
    meeting_->is_aborted = true;
    pthread_cond_broadcast(&meeting_->changed);
  }
  bool is_aborted() const {
    const Lock lock(*meeting_);
    return meeting_->is_aborted;
  }

  // False: another rank has that device.
  bool takes(const std::array<char, 16>& device) {
    const Lock lock(*meeting_);
    const auto joined = static_cast<std::size_t>(meeting_->joined++);
    const auto others = std::span(meeting_->devices).first(joined);
    const bool is_free = std::ranges::find(others, device) == others.end();
    meeting_->devices[joined] = device;
    return is_free;
  }

  // A part of a rank's data, which all ranks may read between two calls of meet().
  std::byte* chunk(std::size_t rank) { return meeting_->chunks[rank].data(); }

 private:
  Meeting* meeting_;
  std::size_t ranks_, rank_;
};

// Null: this machine has no such id.
std::shared_ptr<Clique> join(const ncclUniqueId& id, int ranks, int rank) {
  const int file = shm_open(id.internal, O_RDWR, 0600);
  if (file < 0) return nullptr;
  Meeting* const meeting = map(file);
  close(file);
  return meeting == nullptr ? nullptr : std::make_shared<Clique>(meeting, ranks, rank);
}

std::size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclFloat32:
    case ncclInt32:
      return 4;
    case ncclFloat64:
    case ncclInt64:
      return 8;
    case ncclUint8:
      return 1;
    default:
      return 0;
  }
}

// to[i] = the sum over the ranks of element i of their chunks.
template <typename Real>
void add_up(Clique& clique, std::size_t bytes, void* to) {
  auto* const sums = static_cast<Real*>(to);
  for (std::size_t rank = 0; rank < clique.size(); ++rank) {
    const auto* from = reinterpret_cast<const Real*>(clique.chunk(rank));
    for (std::size_t i = 0; i < bytes / sizeof(Real); ++i)
      sums[i] = rank == 0 ? from[i] : sums[i] + from[i];
  }
}

}  // namespace
}  // namespace detol::emulated

using namespace detol::emulated;

struct ncclComm {
  std::shared_ptr<Clique> clique;
};

namespace {

// finish(clique, bytes, to) makes a part of the result from the chunks of all ranks.
template <typename Finish>
ncclResult_t collective(const void* from, void* to, std::size_t bytes, ncclComm_t communicator,
                        cudaStream_t stream, const Finish& finish) {
  if (communicator == nullptr || !is_for_device(to, bytes) || !is_for_device(from, bytes))
    return ncclInvalidArgument;
  const auto run = [clique = communicator->clique, from, to, bytes, finish] {
    if (!may_run()) return;
    for (std::size_t done = 0; done < bytes; done += kChunk) {
      const std::size_t now = std::min(kChunk, bytes - done);
      std::memcpy(clique->chunk(clique->rank()), static_cast<const std::byte*>(from) + done, now);
      if (!clique->meet()) return;
      finish(*clique, now, static_cast<std::byte*>(to) + done);
      if (!clique->meet()) return;
    }
  };
  return enqueue(stream, run) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<int> next = 0;
  *id = {};
  std::snprintf(id->internal, sizeof id->internal, "/detol-emulated-%d-%d", getpid(), next++);
  return make_meeting(id->internal) ? ncclSuccess : ncclSystemError;
}

// Two ranks of one device are refused, as by the real one.
ncclResult_t ncclCommInitRank(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank) {
  if (entered() != cudaSuccess) return ncclUnhandledCudaError;
  if (communicator == nullptr || ranks < 1 || ranks > static_cast<int>(kMostRanks) || rank < 0 ||
      rank >= ranks)
    return ncclInvalidArgument;
  const std::shared_ptr<Clique> clique = join(id, ranks, rank);
  if (clique == nullptr) return ncclSystemError;
  if (!clique->takes(uuid_of_device(current_device()))) clique->abort();
  const bool have_met = clique->meet();
  if (rank == 0) shm_unlink(id.internal);  // all have mapped it
  if (!have_met) return ncclInvalidUsage;
  *communicator = new ncclComm{clique};
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t*) {
  return ncclCommInitRank(communicator, ranks, id, rank);
}

ncclResult_t ncclCommFinalize(ncclComm_t) {
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  if (communicator == nullptr) return ncclInvalidArgument;
  communicator->clique->abort();
  return ncclCommDestroy(communicator);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* error) {
  if (communicator == nullptr) return ncclInvalidArgument;
  *error = is_broken()                          ? ncclUnhandledCudaError
           : communicator->clique->is_aborted() ? ncclRemoteError
                                                : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t communicator, int* count) {
  *count = static_cast<int>(communicator->clique->size());
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "invalid argument";
  }
}

const char* ncclGetLastError(ncclComm_t) {
  return "";
}

ncclResult_t ncclGroupStart() {
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  if (operation != ncclSum || (type != ncclFloat32 && type != ncclFloat64))
    return ncclInvalidArgument;
  return collective(from, to, count * size_of(type), communicator, stream,
                    type == ncclFloat32 ? add_up<float> : add_up<double>);
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t communicator, cudaStream_t stream) {
  if (size_of(type) == 0 || communicator == nullptr || root < 0) return ncclInvalidArgument;
  const auto sender = static_cast<std::size_t>(root);
  const void* const own = communicator->clique->rank() == sender ? from : to;
  return collective(own, to, count * size_of(type), communicator, stream,
                    [sender](Clique& clique, std::size_t bytes, void* place) {
                      std::memcpy(place, clique.chunk(sender), bytes);
                    });
}

}  // extern "C"
