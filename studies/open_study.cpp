#include "studies/open_study.h"

#include <algorithm>

namespace detol::inline studies {

Result<OpenStudy> open_study(const std::string& storage, const std::string& study) {
  OpenStudy open;
  DETOL_ASSIGN(open.reader, Reader::open(storage));
  if (!study.empty()) {
    DETOL_ASSIGN(open.record, open.reader->study(study));
    return open;
  }
  DETOL_ASSIGN(const auto all, open.reader->studies());
  if (all.empty()) return fail(ErrorCode::kEmpty, "there is no study yet (detol search --help)");
  open.record = *std::ranges::max_element(
      all, {}, [](const StudyRecord& one) { return std::pair(one.created_s, one.id); });
  return open;
}

Result<std::optional<Writer>> runner_of(const std::string& storage, const StudyRecord& study) {
  DETOL_ASSIGN(const auto writers, current_writers(storage));
  const Writer* runner = find_runner(writers, study.id, study.name);
  return runner != nullptr ? std::optional(*runner) : std::nullopt;
}

const Writer* find_runner(std::span<const Writer> writers, StudyId id, std::string_view name) {
  for (const Writer& writer : writers) {
    const bool has_all = writer.study_id == 0;  // then only the name says what it runs
    if (has_all ? writer.study == name : writer.study_id == id) return &writer;
  }
  return nullptr;
}

std::string_view shown_state(StudyPhase state, bool has_runner) {
  return state == StudyPhase::kRunning && !has_runner ? "KILLED" : to_text(state);
}

}  // namespace detol::inline studies
