#include "studies/labels.h"

#include <fmt/format.h>

#include "core/clock.h"
#include "core/table.h"
#include "core/utf8.h"

namespace detol::inline studies {
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

Result<std::vector<Labels>> labels_of(const OpenStudy& study, const Rows& trials) {
  DETOL_ASSIGN(const auto all, read_labels(*study.reader, study.record));
  std::vector<Labels> labels(trials.rows.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto found = all.find(trial_of(trials, i));
    if (found != all.end()) labels[i] = found->second;
  }
  return labels;
}

}  // namespace detol::inline studies
