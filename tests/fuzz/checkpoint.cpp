#include <cstring>

#include "core/hash.h"
#include "tests/fuzz/promise.h"
#include "tests/fuzz/targets.h"
#include "tests/trainer/checkpoint_samples.h"
#include "trainer/checkpoint_format.h"

namespace detol::fuzz {
namespace {

// Repairs the checksum, so that the reader reaches the rest.
std::string sealed(std::string_view input) {
  std::string bytes(input);
  if (bytes.size() < sizeof(std::uint64_t)) return bytes;
  const std::size_t end = bytes.size() - sizeof(std::uint64_t);
  const std::uint64_t sum = hash64(std::string_view(bytes).substr(0, end));
  std::memcpy(&bytes[end], &sum, sizeof sum);
  return bytes;
}

}  // namespace

void fuzz_checkpoint(std::string_view bytes) {
  const auto read = from_bytes(sealed(bytes));
  if (!read)
    return promise_one_line({ErrorCode::kStorage, read.error().reason}, ErrorCode::kStorage);
  const std::string written = to_bytes(*read);
  const auto again = from_bytes(written);
  promise(again.has_value(), "a checkpoint that was read cannot be written");
  promise(to_bytes(*again) == written, "a checkpoint changes on its way");
}

std::vector<std::string> checkpoint_seeds() {
  using namespace testing_support;
  Checkpoint averaged = example(1), grouped = partial(2);
  averaged.state.average = averaged.state.weights;
  grouped.state.residuals = grouped.state.moments;
  grouped.state.pending = grouped.state.moments;
  return {to_bytes(example(2)), to_bytes(averaged), to_bytes(grouped)};
}

}  // namespace detol::fuzz
