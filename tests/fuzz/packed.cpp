#include "trainer/data/formats/packed.h"

#include <cstring>

#include "core/file.h"
#include "core/hash.h"
#include "tests/fuzz/data_files.h"
#include "tests/fuzz/targets.h"
#include "tests/support/idx_writer.h"
#include "trainer/data/formats/formats.h"
#include "trainer/data/formats/packed_layout.h"

namespace detol::fuzz {
namespace {

std::string file_of(TaskKind task) {
  const testing_support::TempFolder folder;
  const auto table = folder.path() / "t.csv", path = folder.path() / "a.detol";
  testing_support::write_bytes(table, "1,0\n2,1\n3,0\n4,1\n5,0\n6,1\n7,0\n8,1\n9,0\n10,1\n");
  const Dataset data =
      load_dataset({.format = "csv", .path = table.string(), .validation = 0.2, .task = task})
          .value();
  (void)write_packed(data, 0.2, path);
  return read_file(path).value();
}

GoodData good() {
  return {.files = {{"a.detol", file_of(TaskKind::kClassification)}},
          .configs =
              {{.format = "packed", .path = "", .validation = 0.2},
               {.format = "packed", .path = "", .validation = 0.2, .task = TaskKind::kRegression}},
          .is_folder = false};
}

// Repairs the checksum over a changed head, so that the reader reaches the rest.
std::string sealed(std::string_view input) {
  std::string bytes(input);
  const std::size_t start = 1;  // after the byte of DataFiles
  if (bytes.size() < start + packed::kPage) return bytes;
  std::uint64_t head = 0;
  std::memcpy(&head, &bytes[start + packed::kHeadBytesAt], sizeof head);
  if (head < packed::kPage || head > bytes.size() - start) return bytes;
  const std::string_view checked(bytes.data() + start + packed::kLengthAt,
                                 head - packed::kLengthAt);
  const std::uint64_t sum = hash64(checked);
  std::memcpy(&bytes[start + packed::kHeadSumAt], &sum, sizeof sum);
  return bytes;
}

}  // namespace

void fuzz_packed(std::string_view bytes) {
  static DataFiles files(good());
  files.read(sealed(bytes));
}

std::vector<std::string> packed_seeds() {
  std::vector<std::string> seeds = inputs_of(good());
  seeds.push_back('\1' + file_of(TaskKind::kRegression));
  return seeds;
}

}  // namespace detol::fuzz
