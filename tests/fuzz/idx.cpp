#include "tests/fuzz/data_files.h"
#include "tests/fuzz/targets.h"
#include "tests/support/idx_writer.h"

namespace detol::fuzz {
namespace {

GoodData good() {
  using namespace testing_support;
  const IdxData data{.classes = 2, .training = 10, .test = 2, .side = 6};
  return {.files = {{"train-images-idx3-ubyte", idx_images(data, data.training, 0)},
                    {"train-labels-idx1-ubyte", idx_labels(data, data.training)},
                    {"t10k-images-idx3-ubyte", idx_images(data, data.test, 1)},
                    {"t10k-labels-idx1-ubyte", idx_labels(data, data.test)}},
          .configs = {{.format = "idx", .path = "", .validation = 0.2}}};
}

}  // namespace

void fuzz_idx(std::string_view bytes) {
  static DataFiles files(good());
  files.read(bytes);
}

std::vector<std::string> idx_seeds() {
  return inputs_of(good());
}

}  // namespace detol::fuzz
