// `status` and `studies` show the same row of a study. `status --watch` draws it live (watch.h).

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/label_columns.h"
#include "cli/watch.h"
#include "core/table.h"
#include "knowledge/query.h"
#include "studies/labels.h"
#include "studies/study_status.h"

namespace detol::inline cli {
namespace {

// Returns the labels of the study itself, from facts of kind `label`.
Labels own_labels(const StudyRecord& study, std::span<const Fact> facts) {
  return labels_of(study, facts)[std::nullopt];
}

Result<int> run_status(const Arguments& arguments) {
  DETOL_ASSIGN(OpenStudy study, open_study(arguments.globals.storage, arguments.text("STUDY")));
  auto& [reader, record] = study;
  if (arguments.has("watch")) {
    reader.reset();  // so that the watch can open the file
    return watch_study(record, arguments);
  }
  DETOL_ASSIGN(Rows rows, status_of(study, arguments.globals.storage));
  DETOL_ASSIGN(const auto facts, reader->facts(kLabelFact));
  add_label_columns({own_labels(record, facts)}, arguments.globals.format, rows);
  return show_record(rows, arguments.globals);
}

// Adds the labels of each study, and leaves out those without the tag, unless it is empty.
Result<void> label_studies(Reader& reader, const std::string& tag, Format format, Rows& rows) {
  DETOL_ASSIGN(const auto records, reader.studies());
  DETOL_ASSIGN(const auto facts, reader.facts(kLabelFact));
  std::vector<Labels> kept;
  Rows shown{.columns = rows.columns, .rows = {}};
  for (auto& row : rows.rows) {
    const auto record =
        std::ranges::find(records, std::get<std::string>(row.front()), &StudyRecord::name);
    // A study that was renamed meanwhile has none.
    Labels labels = record == records.end() ? Labels() : own_labels(*record, facts);
    if (!tag.empty() && !labels.tags.contains(tag)) continue;
    kept.push_back(std::move(labels));
    shown.rows.push_back(std::move(row));
  }
  add_label_columns(kept, format, shown);
  rows = std::move(shown);
  return {};
}

Result<int> run_studies(const Arguments& arguments) {
  DETOL_ASSIGN(const auto reader, Reader::open(arguments.globals.storage));
  DETOL_ASSIGN(Rows rows, study_rows(*reader, arguments.globals.storage));
  const std::string tag = arguments.text("tag");
  DETOL_TRY(label_studies(*reader, tag, arguments.globals.format, rows));
  if (rows.rows.empty())
    return fail(ErrorCode::kEmpty, fmt::format("no study has the tag {}", in_quotes(tag)));
  return show(rows, arguments.globals);
}

}  // namespace

Command status_command() {
  return {.name = "status",
          .summary = "how far a study is, also while it runs",
          .options = {{"STUDY", "", "its name; default: the newest study"},
                      {"--watch", "", "draw it every second until it ends or Ctrl-C"}},
          .examples =
              "  detol status\n"
              "  detol status fashion-cnn -f json\n"
              "  detol status fashion-cnn --watch",
          .run = run_status};
}

Command studies_command() {
  return {
      .name = "studies",
      .summary = "list the studies of the knowledge base and who runs them",
      .options = {{"--tag", "WORD", "only those with that tag (detol study tag); default: all"}},
      .examples = "  detol studies\n  detol studies --storage /data/detol.db -f csv",
      .run = run_studies};
}

}  // namespace detol::inline cli
