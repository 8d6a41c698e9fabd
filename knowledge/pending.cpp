#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "core/fault.h"
#include "core/file.h"
#include "encodings/study/study_config.h"
#include "knowledge/artefacts.h"
#include "knowledge/pending_impl.h"
#include "knowledge/rows_impl.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path note_of(const fs::path& path) {
  return artefact_folder(path, ".pending");  // no study's name begins with a dot
}

void remove_note(const fs::path& path) {
  std::error_code ignored;
  fs::remove(note_of(path), ignored);
}

Result<void> write_note(const fs::path& path, const Pending& pending) {
  return write_file_durably(
      note_of(path), json{{"folder", pending.folder}, {"new_name", pending.new_name}}.dump());
}

// Names that are none were not written by us: they change nothing.
Result<Pending> read_note(const fs::path& path) {
  DETOL_ASSIGN(const std::string text, read_file(note_of(path), 10000));
  const json note = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto name = [&note](const char* key) {
    const auto found = note.is_object() ? note.find(key) : note.end();
    if (found == note.end() || !found->is_string()) return std::string();
    const auto word = found->get<std::string>();
    return is_study_name(word) ? word : std::string();
  };
  return Pending{name("folder"), name("new_name")};
}

Result<void> follow(const fs::path& path, const Pending& pending, bool has_folder, bool has_new) {
  if (pending.folder.empty() || has_folder) return {};  // the change never happened
  const fs::path folder = artefact_folder(path, pending.folder);
  const fs::path renamed = artefact_folder(path, pending.new_name);
  std::error_code error;
  fault("study.folder");
  if (!fs::exists(folder, error)) return {};
  if (pending.new_name.empty())
    fs::remove_all(folder, error);
  else if (has_new && !fs::exists(renamed, error))
    fs::rename(folder, renamed, error);
  if (!error) return {};
  return fail(ErrorCode::kStorage,
              fmt::format("{} cannot be {}: {}; the next command tries again", folder.string(),
                          pending.new_name.empty() ? "removed" : "renamed", error.message()));
}

}  // namespace

bool is_pending(const fs::path& path) {
  std::error_code error;
  return fs::exists(note_of(path), error);
}

Result<void> settle_pending(const fs::path& path, sqlite3* database) {
  if (!is_pending(path)) return {};
  DETOL_ASSIGN(const Pending pending, read_note(path));
  DETOL_ASSIGN(const auto studies, read_studies(database));
  const auto has = [&studies](const std::string& name) {
    return std::ranges::any_of(studies,
                               [&](const Study& study) { return study.record.name == name; });
  };
  DETOL_TRY(follow(path, pending, has(pending.folder), has(pending.new_name)));
  remove_note(path);
  return {};
}

Result<void> with_pending(const fs::path& path, sqlite3* database, const Pending& pending,
                          const std::function<Result<void>()>& change) {
  DETOL_TRY(write_note(path, pending));
  fault("study.change");
  auto changed = change();
  auto settled = settle_pending(path, database);
  if (!changed) return changed;
  return settled;
}

}  // namespace detol
