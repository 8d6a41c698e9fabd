#include "tests/fuzz/data_files.h"
#include "tests/fuzz/targets.h"

namespace detol::fuzz {
namespace {

// CIFAR-100's records: two labels and 3072 pixels.
std::string records(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    bytes += static_cast<char>(i % 2);
    bytes += static_cast<char>(i % 2);
    bytes += std::string(3072, static_cast<char>(40 * i));
  }
  return bytes;
}

GoodData good() {
  return {.files = {{"train.bin", records(6)}, {"test.bin", records(1)}},
          .configs = {{.format = "cifar", .path = "", .validation = 0.2},
                      {.format = "cifar", .path = "", .validation = 0.2, .labels = {"coarse"}}}};
}

}  // namespace

void fuzz_cifar(std::string_view bytes) {
  static DataFiles files(good());
  files.read(bytes);
}

std::vector<std::string> cifar_seeds() {
  return inputs_of(good());
}

}  // namespace detol::fuzz
