// The program of libFuzzer. DETOL_FUZZ_TARGET names the target that it runs. With
// DETOL_FUZZ_SEEDS=FOLDER instead the seeds of all targets are written into FOLDER/<target>/ and
// the names printed.

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "core/table.h"
#include "tests/fuzz/targets.h"
#include "tests/support/idx_writer.h"

namespace detol::fuzz {
namespace {

const FuzzTarget* chosen = nullptr;

void write_seeds(const std::filesystem::path& folder) {
  for (const FuzzTarget& target : fuzz_targets()) {
    std::filesystem::create_directories(folder / target.name);
    int number = 0;
    for (const std::string& seed : target.seeds())
      testing_support::write_bytes(folder / target.name / fmt::format("seed-{}", number++), seed);
    fmt::print("{}\n", target.name);
  }
}

int choose(const char* name) {
  chosen = name == nullptr ? nullptr : find_row(fuzz_targets(), name);
  if (chosen != nullptr) return 0;
  fmt::print(stderr, "DETOL_FUZZ_TARGET: known are {}\n", join(names_of(fuzz_targets())));
  return 1;
}

}  // namespace
}  // namespace detol::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  using namespace detol::fuzz;
  // NOLINTBEGIN(concurrency-mt-unsafe): no thread sets them
  if (const char* folder = std::getenv("DETOL_FUZZ_SEEDS")) {
    write_seeds(folder);
    std::exit(0);
  }
  if (choose(std::getenv("DETOL_FUZZ_TARGET")) != 0) std::exit(2);
  // NOLINTEND(concurrency-mt-unsafe)
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  detol::fuzz::chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
