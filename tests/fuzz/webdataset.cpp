#include "core/file.h"
#include "tests/fuzz/data_files.h"
#include "tests/fuzz/targets.h"
#include "tests/trainer/picture_writer.h"

namespace detol::fuzz {
namespace {

std::string tar(const char* name) {
  using namespace testing_support;
  std::vector<TarMember> members;
  for (int i = 0; i < 5; ++i) {
    const std::string sample = std::to_string(i);
    members.push_back({sample + ".cls", std::to_string(i % 2)});
    members.push_back({sample + ".png", png_of(plain(2, 2, {static_cast<std::uint8_t>(9 * i)}))});
  }
  const TempFolder folder;
  write_tar(folder.path() / name, members);
  return read_file(folder.path() / name).value();
}

GoodData good() {
  return {.files = {{"all.tar", tar("all.tar")}},
          .configs = {{.format = "webdataset", .path = "", .validation = 0.2}},
          .is_folder = false};
}

}  // namespace

void fuzz_webdataset(std::string_view bytes) {
  static DataFiles files(good());
  files.read(bytes);
}

std::vector<std::string> webdataset_seeds() {
  std::vector<std::string> seeds = inputs_of(good());
  seeds.push_back('\0' + tar("all.tar.gz"));
  return seeds;
}

}  // namespace detol::fuzz
