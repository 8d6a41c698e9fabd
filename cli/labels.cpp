#include "cli/labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/json_text.h"
#include "core/table.h"
#include "core/utf8.h"

namespace detol::inline cli {
namespace {

constexpr std::size_t kMostTagBytes = 100;
constexpr std::size_t kMostNoteBytes = 10'000;

Result<void> check_tag(const std::string& tag) {
  const bool has_blank = tag.find_first_of(" ,") != std::string::npos;
  if (!tag.empty() && tag.size() <= kMostTagBytes && !has_blank && printable(tag) == tag) return {};
  return fail(ErrorCode::kUsage,
              fmt::format("the tag is {}; it must be a word of at most {} bytes without spaces and "
                          "commas; `note` takes a text",
                          in_quotes(tag), kMostTagBytes));
}

Result<void> check_note(const std::string& note) {
  if (is_utf8(note) && note.size() <= kMostNoteBytes) return {};
  return fail(ErrorCode::kUsage,
              fmt::format("the note must be UTF-8 of at most {} bytes", kMostNoteBytes));
}

// Returns a list in JSON, and else one text.
Cell tags_cell(const Labels& labels, Format format) {
  if (format == Format::kJson || format == Format::kJsonl)
    return compact(nlohmann::json(labels.tags));
  if (labels.tags.empty()) return {};
  return compact(nlohmann::json(fmt::format("{}", fmt::join(labels.tags, " "))));
}

}  // namespace

Result<void> change_labels(const std::string& storage, const StudyRecord& study,
                           const LabelChange& change) {
  for (const std::string& tag : change.tags) DETOL_TRY(check_tag(tag));
  if (change.note) DETOL_TRY(check_note(*change.note));
  DETOL_ASSIGN(const auto ledger, Ledger::open(storage));
  DETOL_ASSIGN(const auto known, ledger->facts(kLabelFact));
  return ledger->record_facts(label_facts(study, change, system_clock().wall_s(), known));
}

Result<std::map<LabelTarget, Labels>> read_labels(Reader& reader, const StudyRecord& study) {
  DETOL_ASSIGN(const auto facts, reader.facts(kLabelFact));
  return labels_of(study, facts);
}

void add_label_columns(const std::vector<Labels>& labels, Format format, Rows& rows) {
  const bool shows_empty = format != Format::kTable || rows.rows.size() == 1;
  if (shows_empty || std::ranges::any_of(labels, [](const Labels& l) { return !l.tags.empty(); })) {
    rows.columns.emplace_back("tags");
    for (std::size_t i = 0; i < labels.size(); ++i)
      rows.rows[i].push_back(tags_cell(labels[i], format));
  }
  if (shows_empty || std::ranges::any_of(labels, [](const Labels& l) { return !l.note.empty(); })) {
    rows.columns.emplace_back("note");
    for (std::size_t i = 0; i < labels.size(); ++i)
      rows.rows[i].push_back(labels[i].note.empty() ? Cell() : Cell(labels[i].note));
  }
}

Result<void> add_labels(const OpenStudy& study, Format format, Rows& trials) {
  DETOL_ASSIGN(const auto all, read_labels(*study.reader, study.record));
  std::vector<Labels> labels(trials.rows.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto found = all.find(trial_of(trials, i));
    if (found != all.end()) labels[i] = found->second;
  }
  add_label_columns(labels, format, trials);
  return {};
}

}  // namespace detol::inline cli
