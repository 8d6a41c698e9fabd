// `data pack|info`: writes a data set to one file that all workers of a machine share, and shows
// what such a file contains.

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "cli/commands.h"
#include "cli/settings.h"
#include "core/hash.h"
#include "scheduler/run/preflight.h"
#include "trainer/data/dataset.h"
#include "trainer/data/formats/formats.h"
#include "trainer/data/formats/packed.h"

namespace detol::inline cli {
namespace {

// The space file that --from uses, of which only the data matter.
constexpr std::string_view kDataAlone =
    "{version: 1, study: data, data: {format: idx}, training: {epochs: 1},"
    " architecture: {type: chain, stages: [{block: {op: conv}}]},"
    " objectives: [{metric: val_accuracy, direction: maximize}]}";

Rows record_of(const std::filesystem::path& path, const Packed& packed) {
  const DatasetInfo& info = packed.data.info;
  std::error_code ignored;
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, ignored));
  return {.columns = {"file", "bytes", "shape", "pixels", "task", "classes", "training",
                      "validation", "test", "split", "fingerprint"},
          .rows = {{path.string(), bytes, to_text(info.task.input),
                    packed.data.has_bytes() ? "bytes" : "floats",
                    std::string(row_of(info.task.kind).name), std::int64_t{info.task.classes},
                    info.training, info.validation, info.test, packed.validation,
                    to_hex(info.fingerprint)}}};
}

Result<int> print_info(const std::filesystem::path& path, const Globals& globals) {
  DETOL_ASSIGN(const Packed packed, read_packed(path));
  return show_record(record_of(path, packed), globals);
}

Result<StudyConfig> study_of(const Arguments& arguments) {
  if (arguments.has("space") == arguments.has("from")) {
    return fail(ErrorCode::kUsage, "say which data: --space FILE, or --from FORMAT --data PATH");
  }
  if (arguments.has("space")) return read_space(arguments);
  DETOL_ASSIGN(auto overrides, overrides_from(arguments));
  overrides.push_back({"data.format", arguments.text("from")});
  return load_study_config(kDataAlone, "--from", overrides);
}

Result<int> run_pack(const Arguments& arguments) {
  const auto study = study_of(arguments).map_error(
      [&](Error error) { return as_written(std::move(error), arguments); });
  if (!study) return tl::unexpected<Error>(study.error());
  if (!study->trains())
    return fail(ErrorCode::kUsage, "the study of a table or a function has no data to pack");
  const std::filesystem::path out = arguments.text("out");
  std::error_code ignored;
  if (std::filesystem::exists(out, ignored) && !arguments.has("force"))
    return fail(ErrorCode::kUsage, out.string() + " exists; --force replaces it");
  DataConfig from = study->data;
  if (from.task == TaskKind::kBinary) from.task = TaskKind::kClassification;  // stored alike
  DETOL_ASSIGN(const Dataset data, load_dataset(from));
  if (is_encoded(data)) {
    return fail(ErrorCode::kUsage,
                from.path +
                    ": a table of categories, dates, missing cells or encoded numbers cannot "
                    "be packed; train from the file");
  }
  say_remarks(from, data.info);
  DETOL_TRY(write_packed(data, study->data.validation, out));
  return print_info(out, arguments.globals);
}

Result<int> run_info(const Arguments& arguments) {
  return print_info(arguments.text("FILE"), arguments.globals);
}

std::vector<std::string_view> format_names() {
  std::vector<std::string_view> names;
  for (const FormatRow& row : formats()) names.push_back(row.name);
  return names;
}

}  // namespace

Command data_pack_command() {
  return {.name = "data pack",
          .summary = "write a data set, split and checked, to one file that all workers share",
          .options = {{"--space", "FILE",
                       "the space file whose data it is; default: none, --from says"},
                      {"--from", "FORMAT", "or their format; default: that of the space file",
                       Option::kOptional, format_names()},
                      {"--data", "PATH", "where they are; default: that of the space file"},
                      {"--set", "KEY=VALUE", "change a key of the space file", Option::kRepeated},
                      {"--out", "FILE", "the file to write", Option::kRequired},
                      {"--force", "", "replace it if it exists"}},
          .examples =
              "  detol data pack --space cnn --out fashion.detol\n"
              "  detol data pack --from idx --data mnist --set data.split.validation=0.2 --out "
              "m.detol\n"
              "  detol search --space cnn --set data.format=packed --data fashion.detol",
          .run = run_pack};
}

Command data_info_command() {
  return {.name = "data info",
          .summary = "check every byte of a packed file, and say what is in it",
          .options = {{"FILE", "", "which", Option::kRequired}},
          .examples = "  detol data info fashion.detol",
          .run = run_info};
}

}  // namespace detol::inline cli
