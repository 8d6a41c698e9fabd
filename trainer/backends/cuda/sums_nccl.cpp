// Making a communicator takes a large part of a second, so it is kept for later candidates of the
// same group.

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <set>
#include <string>

#include <nccl.h>

#include "trainer/backends/cuda/device.h"
#include "trainer/backends/cuda/sums.h"

namespace detol::inline trainer::cuda {
namespace {

void check_nccl(ncclResult_t status, const char* what) {
  if (status != ncclSuccess)
    throw DeviceError(fmt::format("cuda: NCCL, {}: {}", what, ncclGetErrorString(status)));
}

class NcclSums final : public RankSums {
 public:
  NcclSums(Group& group, ncclComm_t communicator) : RankSums(group), communicator_(communicator) {}

  bool is_on_device() const override { return true; }
  void sum(float* values, std::size_t count) override { run(values, count, ncclFloat32); }
  void sum(double* values, std::size_t count) override { run(values, count, ncclFloat64); }

 private:
  void run(void* values, std::size_t count, ncclDataType_t type) {
    if (count == 0) return;
    check_nccl(ncclAllReduce(values, values, count, type, ncclSum, communicator_, device().stream),
               "a sum over the ranks");
  }
  ncclComm_t communicator_;
};

// Returns whether every rank has a device of its own.
bool are_apart(Group& group) {
  std::set<std::string> uuids;
  for (int rank = 0; rank < group.size(); ++rank)
    uuids.insert(group.share(rank == group.rank() ? device().uuid : std::string(), rank));
  return static_cast<int>(uuids.size()) == group.size();
}

ncclComm_t make_communicator(Group& group) {
  ncclUniqueId id{};
  if (group.rank() == 0) check_nccl(ncclGetUniqueId(&id), "an identity");
  const std::string own(group.rank() == 0 ? std::string(id.internal, sizeof(id.internal))
                                          : std::string());
  const std::string shared = group.share(own);
  std::memcpy(id.internal, shared.data(), sizeof(id.internal));
  ncclComm_t communicator = nullptr;
  check_nccl(ncclCommInitRank(&communicator, group.size(), id, group.rank()), "meeting the ranks");
  return communicator;
}

}  // namespace

std::unique_ptr<RankSums> make_device_sums(Group& group) {
  // Communicators are kept by thread, since in tests the ranks are threads. Null: the ranks share a
  // device.
  static thread_local std::map<const Group*, ncclComm_t> known;
  auto found = known.find(&group);
  if (found == known.end()) {
    ncclComm_t communicator = are_apart(group) ? make_communicator(group) : nullptr;
    found = known.emplace(&group, communicator).first;
  }
  if (found->second == nullptr) return nullptr;
  return std::make_unique<NcclSums>(group, found->second);
}

std::string nccl_version() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return {};
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace detol::inline trainer::cuda
