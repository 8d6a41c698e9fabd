#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/settings.h"
#include "scheduler/run/candidate_sample.h"
#include "scheduler/run/preflight.h"
#include "trainer/data/data_sample.h"
#include "trainer/data/formats/picture_survey.h"
#include "trainer/data/table_look.h"

namespace detol::inline cli {
namespace {

void put(Rows& record, const std::string& column, Cell value) {
  if (record.rows.empty()) record.rows.emplace_back();
  record.columns.push_back(column);
  record.rows.front().push_back(std::move(value));
}

void put_range(Rows& record, const std::string& name, std::vector<std::int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const bool none = numbers.empty();
  put(record, name + "_min", none ? Cell() : Cell(numbers.front()));
  put(record, name + "_median", none ? Cell() : Cell(numbers[numbers.size() / 2]));
  put(record, name + "_max", none ? Cell() : Cell(numbers.back()));
}

// Says how many columns of each kind a table has.
void put_columns(Rows& record, const TableLook& look) {
  std::int64_t numbers = 0, categories = 0, dates = 0, missing = 0;
  for (const std::size_t i : columns_used(look, ColumnUse::kInput)) {
    const ColumnLook& column = look.columns[i];
    numbers += column.kind == ColumnKind::kNumber ? 1 : 0;
    categories += column.kind == ColumnKind::kCategory ? 1 : 0;
    dates += column.kind == ColumnKind::kDate ? 1 : 0;
    missing += column.missing;
  }
  put(record, "number_columns", numbers);
  put(record, "category_columns", categories);
  put(record, "date_columns", dates);
  put(record, "missing_cells", missing);
  put(record, "left_out_columns",
      static_cast<std::int64_t>(columns_used(look, ColumnUse::kLeftOut).size()));
}

// Says how frequent the rarest and the most frequent class are among the training samples.
void put_class_shares(Rows& record, const DatasetInfo& data) {
  if (!data.sample || data.sample->in_class.size() < 2 || data.training == 0) return;
  const auto [least, most] = std::ranges::minmax(data.sample->in_class);
  put(record, "smallest_class_share",
      static_cast<double>(least) / static_cast<double>(data.training));
  put(record, "largest_class_share",
      static_cast<double>(most) / static_cast<double>(data.training));
}

// Adds what the pictures of a folder are like; of other data it knows nothing to add.
Result<void> put_pictures(Rows& record, const DataConfig& data) {
  if (data.format != "image_folder") return {};
  DETOL_ASSIGN(const PictureSurvey survey, survey_pictures(data.path));
  put(record, "pictures", fmt::format("{}; {}", kinds_in(survey), sizes_in(survey)));
  const std::string notes = notes_on(survey);
  put(record, "picture_notes", notes.empty() ? Cell() : Cell(notes));
  return {};
}

Result<Rows> report_on(const StudyConfig& config, const Preflight& preflight,
                       const CandidateSample& sample) {
  Rows record;
  put(record, "study", config.study);
  put(record, "choices", static_cast<std::int64_t>(config.space.size()));
  put(record, "size", size_of_space(config.space));
  if (config.trains()) {
    const bool is_table = preflight.data.look != nullptr;
    if (is_table) put_columns(record, *preflight.data.look);
    put(record, "input", to_text(preflight.data.task.input));
    if (config.data.task == TaskKind::kRegression)
      put(record, "targets", std::int64_t{preflight.data.task.classes});
    else
      put(record, "classes", std::int64_t{preflight.data.task.classes});
    put(record, is_table ? "training_records" : "training_images", preflight.data.training);
    put(record, is_table ? "validation_records" : "validation_images", preflight.data.validation);
    put(record, is_table ? "test_records" : "test_images", preflight.data.test);
    put_class_shares(record, preflight.data);
    DETOL_TRY(put_pictures(record, config.data));
  } else if (config.network_task) {
    put(record, "input", to_text(config.network_task->input));
    put(record, "outputs", std::int64_t{config.network_task->classes});
  }
  if (!config.has_networks() && !config.table) return record;  // no candidate can be refused
  put(record, "sampled", sample.drawn);
  put(record, "refused", sample.refused());
  put(record, "refused_share",
      static_cast<double>(sample.refused()) / static_cast<double>(sample.drawn));
  put(record, "refused_because", sample.reason.empty() ? Cell() : Cell(sample.reason));
  if (!config.has_networks()) return record;
  put_range(record, "params", sample.params);
  put_range(record, "flops", sample.flops);
  if (config.trains()) put_range(record, "memory_bytes", sample.memory);
  return record;
}

Result<int> run_validate(const Arguments& arguments) {
  DETOL_ASSIGN(const StudyConfig config, read_space(arguments));
  DETOL_ASSIGN(const auto count, arguments.number("sample", 1));
  DETOL_ASSIGN(const Preflight preflight, check_study(config));
  const int ranks = std::max(1, config.resources.group_size);
  DETOL_ASSIGN(const CandidateSample sample,
               sample_candidates(config, preflight, ranks, count.value_or(kUsualSample)));
  DETOL_ASSIGN(const Rows report, report_on(config, preflight, sample));
  return show_record(report, arguments.globals);
}

}  // namespace

Command validate_command() {
  return {
      .name = "validate",
      .summary = "check a space file and its data; size of the space, cost of samples",
      .options = {{"--space", "FILE", "the space file, or the name of a bundled one, such as cnn",
                   Option::kRequired},
                  {"--sample", "N", "how many random candidates to cost; default 200"},
                  {"--data", "PATH", "where the data is; default: the file's data.path"},
                  {"--set", "KEY=VALUE", "change a key of the space file", Option::kRepeated}},
      .examples =
          "  detol validate --space configs/cnn.yaml\n"
          "  detol validate --space my.yaml --sample 1000 -f json",
      .run = run_validate};
}

}  // namespace detol::inline cli
