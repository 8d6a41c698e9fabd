#include "tests/fuzz/data_files.h"

#include <algorithm>
#include <iterator>

#include "tests/fuzz/promise.h"
#include "tests/support/idx_writer.h"
#include "trainer/data/formats/formats.h"

namespace detol::fuzz {
namespace {

void promise_refusal(const Error& error, const DataConfig& config) {
  promise_one_line(error, ErrorCode::kInput);
  const bool names_it =
      error.message.find(config.path) != std::string::npos || error.message.starts_with("data.");
  promise(names_it, "an error that names no file: " + error.message);
  promise(error.message != config.path + ": not enough memory for these data", error.message);
}

void promise_sound(const Dataset& data, const DatasetInfo& seen) {
  promise(seen.fingerprint == data.info.fingerprint, "inspected and loaded differ");
  promise(data.info.training > 0 && data.info.validation > 0, "an empty part");
  for (const std::int32_t label : data.labels)
    promise(label >= 0 && label < std::max(2, data.info.task.classes), "a label out of range");
}

void read_data(const DataConfig& config) {
  const auto seen = inspect_dataset(config);
  const auto loaded = load_dataset(config);
  if (!seen) promise_refusal(seen.error(), config);
  if (!loaded) promise_refusal(loaded.error(), config);
  if (seen && !loaded)
    throw BrokenPromise("inspecting accepts, loading refuses: " + loaded.error().message);
  if (!seen && loaded)
    throw BrokenPromise("loading accepts, inspecting refuses: " + seen.error().message);
  if (loaded) promise_sound(*loaded, *seen);
}

}  // namespace

std::vector<std::string> inputs_of(const GoodData& good) {
  std::vector<std::string> inputs;
  char first = 0;
  for (const auto& [name, bytes] : good.files) {
    for (std::size_t i = 0; i < good.configs.size(); ++i) inputs.push_back(first++ + bytes);
  }
  return inputs;
}

DataFiles::DataFiles(GoodData good) : good_(std::move(good)) {
  for (const auto& [name, bytes] : good_.files)
    testing_support::write_bytes(folder_.path() / name, bytes);
}

void DataFiles::read(std::string_view input) {
  if (input.empty()) return;
  const auto first = static_cast<unsigned char>(input.front());
  const std::size_t configs = good_.configs.size();
  const auto file = std::next(good_.files.begin(),
                              static_cast<std::ptrdiff_t>(first / configs % good_.files.size()));
  DataConfig config = good_.configs[first % configs];
  config.path = (good_.is_folder ? folder_.path() : folder_.path() / file->first).string();
  testing_support::write_bytes(folder_.path() / file->first, input.substr(1));
  read_data(config);
  testing_support::write_bytes(folder_.path() / file->first, file->second);
}

}  // namespace detol::fuzz
