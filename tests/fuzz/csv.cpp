#include "tests/fuzz/data_files.h"
#include "tests/fuzz/targets.h"

namespace detol::fuzz {
namespace {

std::string table() {
  std::string text = "a,b,\"the \"\"label\"\"\"\n";
  for (int i = 0; i < 10; ++i)
    text += std::to_string(i) + ", 1e-" + std::to_string(i) + "," + std::to_string(i % 2) + "\r\n";
  return text;
}

GoodData good() {
  const auto as = [](TaskKind task) {
    return DataConfig{.format = "csv", .path = "", .validation = 0.2, .task = task};
  };
  GoodData data{.files = {{"t.csv", table()}},
                .configs = {as(TaskKind::kClassification), as(TaskKind::kBinary),
                            as(TaskKind::kRegression), as(TaskKind::kMultiLabel)},
                .is_folder = false};
  DataConfig sequence = as(TaskKind::kClassification);
  sequence.labels = {"first"};
  sequence.sequence = true;
  data.configs.push_back(sequence);
  return data;
}

}  // namespace

void fuzz_csv(std::string_view bytes) {
  static DataFiles files(good());
  files.read(bytes);
}

std::vector<std::string> csv_seeds() {
  std::vector<std::string> seeds = inputs_of(good());
  seeds.push_back(std::string(1, '\0') + "1,odd\n2,even\n3,odd\n4,even\n5,odd\n6,even\n");
  return seeds;
}

}  // namespace detol::fuzz
