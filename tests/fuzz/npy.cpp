// Both forms of NumPy's arrays: a folder of them, and one zip file.

#include <archive.h>
#include <archive_entry.h>

#include "tests/fuzz/data_files.h"
#include "tests/fuzz/targets.h"

namespace detol::fuzz {
namespace {

std::string npy(const std::string& type, const std::string& sizes, const std::string& data) {
  const std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + sizes + "), }\n";
  std::string bytes("\x93NUMPY\x01\0", 8);
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  return bytes + header + data;
}

std::string numbers(int count, int step) {
  std::string data;
  for (int i = 0; i < count; ++i) data += static_cast<char>(step * i);
  return data;
}

std::string labels() {
  std::string data;
  for (int i = 0; i < 10; ++i) data += static_cast<char>(i % 2);
  return data;
}

std::vector<DataConfig> configs() {
  return {{.format = "npy", .path = "", .validation = 0.2},
          {.format = "npy", .path = "", .validation = 0.2, .task = TaskKind::kRegression}};
}

GoodData folder() {
  return {.files = {{"x_train.npy", npy("|u1", "10, 2, 2", numbers(40, 5))},
                    {"y_train.npy", npy("|u1", "10,", labels())}},
          .configs = configs()};
}

std::string zip_of(const std::map<std::string, std::string>& files, bool is_packed) {
  std::string bytes(1 << 16, '\0');
  std::size_t used = 0;
  archive* writer = archive_write_new();
  archive_write_set_format_zip(writer);
  if (!is_packed) archive_write_zip_set_compression_store(writer);
  archive_write_open_memory(writer, bytes.data(), bytes.size(), &used);
  for (const auto& [name, content] : files) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    archive_write_header(writer, entry);
    archive_write_data(writer, content.data(), content.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  bytes.resize(used);
  return bytes;
}

GoodData one_file() {
  return {.files = {{"all.npz", zip_of(folder().files, true)}},
          .configs = configs(),
          .is_folder = false};
}

}  // namespace

void fuzz_npy(std::string_view bytes) {
  static DataFiles files(folder());
  files.read(bytes);
}

std::vector<std::string> npy_seeds() {
  std::vector<std::string> seeds = inputs_of(folder());
  std::string floats(40 * sizeof(float), '\0');
  floats[2] = '\x80', floats[3] = '\x3f';  // 1
  for (const std::string& array : {npy("<f4", "10, 2, 2", floats), npy(">f8", "10, 2", floats),
                                   npy("<i4", "10, 1, 2, 2", floats)})
    seeds.push_back('\0' + array);
  return seeds;
}

void fuzz_npz(std::string_view bytes) {
  static DataFiles files(one_file());
  files.read(bytes);
}

std::vector<std::string> npz_seeds() {
  std::vector<std::string> seeds = inputs_of(one_file());
  seeds.push_back('\0' + zip_of(folder().files, false));
  return seeds;
}

}  // namespace detol::fuzz
