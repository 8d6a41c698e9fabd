#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/fault.h"
#include "core/file.h"
#include "core/json_text.h"
#include "encodings/study/study_config.h"
#include "knowledge/artefacts.h"
#include "knowledge/folder_intent_impl.h"
#include "knowledge/rows_impl.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path intent_file(const fs::path& path) {
  return artefact_folder(path, ".pending");  // no study's name begins with a dot
}

void remove_intent(const fs::path& path) {
  std::error_code ignored;
  fs::remove(intent_file(path), ignored);
}

Result<void> write_intent(const fs::path& path, const FolderIntent& intent) {
  return write_file_durably(
      intent_file(path), compact(json{{"folder", intent.folder}, {"new_name", intent.new_name}}));
}

// Reads the record. Names that no study can have were not written by us and are ignored.
Result<FolderIntent> read_intent(const fs::path& path) {
  DETOL_ASSIGN(const std::string text, read_file(intent_file(path), 10000));
  const json intent = json_or_discarded(text);
  const auto name = [&intent](const char* key) {
    const auto found = intent.is_object() ? intent.find(key) : intent.end();
    if (found == intent.end() || !found->is_string()) return std::string();
    const auto word = found->get<std::string>();
    return is_study_name(word) ? word : std::string();
  };
  return FolderIntent{name("folder"), name("new_name")};
}

Result<void> follow(const fs::path& path, const FolderIntent& intent, bool has_folder,
                    bool has_new) {
  if (intent.folder.empty() || has_folder) return {};  // the change was not committed
  const fs::path folder = artefact_folder(path, intent.folder);
  const fs::path renamed = artefact_folder(path, intent.new_name);
  std::error_code error;
  fault("study.folder");
  if (!fs::exists(folder, error)) return {};
  if (intent.new_name.empty())
    fs::remove_all(folder, error);
  else if (has_new && !fs::exists(renamed, error))
    fs::rename(folder, renamed, error);
  if (!error) return {};
  return fail(ErrorCode::kStorage,
              fmt::format("{} cannot be {}: {}; the next command tries again", folder.string(),
                          intent.new_name.empty() ? "removed" : "renamed", error.message()));
}

}  // namespace

bool has_intent(const fs::path& path) {
  std::error_code error;
  return fs::exists(intent_file(path), error);
}

Result<void> recover_intent(const fs::path& path, PageVerification& pages) {
  if (!has_intent(path)) return {};
  DETOL_ASSIGN(const FolderIntent intent, read_intent(path));
  DETOL_ASSIGN(const auto studies, pages.run([&] { return read_studies(pages.database()); }));
  const auto has = [&studies](const std::string& name) {
    return std::ranges::any_of(studies,
                               [&](const Study& study) { return study.record.name == name; });
  };
  DETOL_TRY(follow(path, intent, has(intent.folder), has(intent.new_name)));
  remove_intent(path);
  return {};
}

Result<void> with_intent(const fs::path& path, PageVerification& pages, const FolderIntent& intent,
                         const std::function<Result<void>()>& change) {
  DETOL_TRY(write_intent(path, intent));
  fault("study.change");
  auto changed = change();
  auto settled = recover_intent(path, pages);
  if (!changed) return changed;
  return settled;
}

}  // namespace detol::inline knowledge
