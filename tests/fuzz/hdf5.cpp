#include <hdf5.h>

#include "core/file.h"
#include "tests/fuzz/data_files.h"
#include "tests/fuzz/targets.h"

namespace detol::fuzz {
namespace {

void write(hid_t file, const char* name, const std::vector<hsize_t>& sizes, bool is_packed) {
  std::vector<std::uint8_t> data;
  for (std::uint8_t i = 0; i < 40; ++i) data.push_back(sizes.size() == 1 ? i % 2 : 5 * i);
  const hid_t space = H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr);
  const hid_t settings = H5Pcreate(H5P_DATASET_CREATE);
  if (is_packed) {
    H5Pset_chunk(settings, static_cast<int>(sizes.size()), sizes.data());
    H5Pset_deflate(settings, 6);
  }
  const hid_t array =
      H5Dcreate2(file, name, H5T_NATIVE_UINT8, space, H5P_DEFAULT, settings, H5P_DEFAULT);
  H5Dwrite(array, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data());
  H5Dclose(array);
  H5Pclose(settings);
  H5Sclose(space);
}

std::string file_of(bool is_packed) {
  const testing_support::TempFolder folder;
  const auto path = folder.path() / "a.h5";
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  write(file, "images", {10, 2, 2}, is_packed);
  write(file, "labels", {10}, false);
  H5Fclose(file);
  return read_file(path).value();
}

GoodData good() {
  return {
      .files = {{"a.h5", file_of(false)}},
      .configs = {{.format = "hdf5", .path = "", .validation = 0.2},
                  {.format = "hdf5", .path = "", .validation = 0.2, .task = TaskKind::kRegression}},
      .is_folder = false};
}

}  // namespace

void fuzz_hdf5(std::string_view bytes) {
  static DataFiles files(good());
  files.read(bytes);
}

std::vector<std::string> hdf5_seeds() {
  std::vector<std::string> seeds = inputs_of(good());
  seeds.push_back('\0' + file_of(true));
  return seeds;
}

}  // namespace detol::fuzz
