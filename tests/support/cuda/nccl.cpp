// The emulated NCCL joins threads of one process. A sum is added up in the order of the ranks. Who
// waits for ranks that do not come waits, as with the real one, until somebody aborts.

#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <nccl.h>

#include "tests/support/cuda/memory.h"
#include "tests/support/cuda/state.h"
#include "tests/support/cuda/streams.h"

namespace detol::emulated {
namespace {

// The ranks that share an identity.
class Clique {
 public:
  explicit Clique(int ranks) : sources_(static_cast<std::size_t>(ranks)) {}

  int size() const { return static_cast<int>(sources_.size()); }

  // False: aborted.
  bool meet() {
    std::unique_lock lock(mutex_);
    const std::uint64_t round = round_;
    if (++arrived_ == size()) {
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
      return !aborted_;
    }
    changed_.wait(lock, [&] { return round_ != round || aborted_; });
    return !aborted_;
  }

  void abort() {
    const std::scoped_lock lock(mutex_);
    aborted_ = true;
    changed_.notify_all();
  }
  bool is_aborted() {
    const std::scoped_lock lock(mutex_);
    return aborted_;
  }

  // False: another rank has that device.
  bool takes(int device) {
    const std::scoped_lock lock(mutex_);
    return devices_.insert(device).second;
  }

  // Everybody's data become readable between two meetings.
  const void*& source(int rank) { return sources_[static_cast<std::size_t>(rank)]; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  std::uint64_t round_ = 0;
  bool aborted_ = false;
  std::set<int> devices_;
  std::vector<const void*> sources_;
};

struct Cliques {
  std::mutex mutex;
  std::uint64_t next = 1;
  std::map<std::uint64_t, std::weak_ptr<Clique>> all;
};

Cliques& cliques() {
  static auto* const one = new Cliques();
  return *one;
}

struct Identity {
  std::uint64_t number = 0;
};

// Null: not of this process, or of another number of ranks.
std::shared_ptr<Clique> join(const ncclUniqueId& id, int ranks) {
  Identity identity;
  std::memcpy(&identity, id.internal, sizeof identity);
  const std::scoped_lock lock(cliques().mutex);
  if (identity.number == 0 || identity.number >= cliques().next) return nullptr;
  std::weak_ptr<Clique>& known = cliques().all[identity.number];
  std::shared_ptr<Clique> clique = known.lock();
  if (clique == nullptr) known = clique = std::make_shared<Clique>(ranks);
  return clique->size() == ranks ? clique : nullptr;
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

template <typename Real>
std::vector<std::byte> sum_of(Clique& clique, std::size_t count) {
  std::vector<Real> sum(count);
  for (int rank = 0; rank < clique.size(); ++rank) {
    const auto* from = static_cast<const Real*>(clique.source(rank));
    for (std::size_t i = 0; i < count; ++i) sum[i] = rank == 0 ? from[i] : sum[i] + from[i];
  }
  std::vector<std::byte> bytes(count * sizeof(Real));
  std::memcpy(bytes.data(), sum.data(), bytes.size());
  return bytes;
}

}  // namespace
}  // namespace detol::emulated

using namespace detol::emulated;

struct ncclComm {
  std::shared_ptr<Clique> clique;
  int rank = 0, device = 0;
};

namespace {

// What `made` returns, of everybody's data, becomes this rank's result.
template <typename Make>
ncclResult_t collective(const void* from, void* to, std::size_t bytes, ncclComm_t communicator,
                        cudaStream_t stream, const Make& make) {
  if (communicator == nullptr || !is_for_device(to, bytes) ||
      (from != nullptr && !is_for_device(from, bytes)))
    return ncclInvalidArgument;
  const auto run = [clique = communicator->clique, rank = communicator->rank, from, to, make] {
    if (!may_run()) return;
    clique->source(rank) = from;
    if (!clique->meet()) return;
    const std::vector<std::byte> result = make(*clique);
    if (!clique->meet()) return;
    std::memcpy(to, result.data(), result.size());
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
  const std::scoped_lock lock(cliques().mutex);
  const Identity identity = {cliques().next++};
  *id = {};
  std::memcpy(id->internal, &identity, sizeof identity);
  return ncclSuccess;
}

// Two ranks of one device are refused, as by the real one.
ncclResult_t ncclCommInitRank(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank) {
  if (entered() != cudaSuccess) return ncclUnhandledCudaError;
  if (communicator == nullptr || ranks < 1 || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  const std::shared_ptr<Clique> clique = join(id, ranks);
  if (clique == nullptr) return ncclSystemError;
  const bool alone = clique->takes(current_device()) || settings().is_apart;
  if (!alone) clique->abort();
  if (!clique->meet()) return ncclInvalidUsage;
  *communicator = new ncclComm{clique, rank, current_device()};
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
  *count = communicator->clique->size();
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
  return collective(
      from, to, count * size_of(type), communicator, stream, [type, count](Clique& clique) {
        return type == ncclFloat32 ? sum_of<float>(clique, count) : sum_of<double>(clique, count);
      });
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t communicator, cudaStream_t stream) {
  const std::size_t bytes = count * size_of(type);
  if (bytes == 0) return count == 0 ? ncclSuccess : ncclInvalidArgument;
  const bool sends = communicator != nullptr && communicator->rank == root;
  return collective(sends ? from : nullptr, to, bytes, communicator, stream,
                    [root, bytes](Clique& clique) {
                      const auto* first = static_cast<const std::byte*>(clique.source(root));
                      return std::vector<std::byte>(first, first + bytes);
                    });
}

}  // extern "C"
