#include "knowledge/artefacts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <random>
#include <system_error>
#include <vector>

#include "core/durable_file.h"
#include "core/file.h"
#include "core/log.h"
#include "encodings/study/study_config.h"
#include "knowledge/artefacts_impl.h"
#include "knowledge/backup.h"
#include "knowledge/reader_impl.h"
#include "knowledge/rows_impl.h"
#include "knowledge/schema_impl.h"
#include "knowledge/storage/file_system.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = ".owner";

// Database: the properties of a database by which its folder is found.
struct Database {
  fs::path path;
  std::optional<DatabaseId> id;
  std::vector<std::string> studies;

  fs::path folder() const { return path.string() + ".d"; }
  fs::path old_folder() const { return fs::path(path).replace_extension(".d"); }
};

// Owner: the owner of a folder.
struct Owner {
  enum Kind {
    kNone,      // the folder does not exist, or has only hidden files
    kUnmarked,  // an older detol or a user created it
    kAssigned,  // a user emptied the mark, to give it to the database of that name
    kDatabase,  // the database with this id; without an id the mark is damaged
  } kind = kNone;
  std::optional<DatabaseId> id = {};
};

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

Owner owner_by(std::string_view mark) {
  while (mark.ends_with('\n')) mark.remove_suffix(1);
  if (mark.empty()) return {Owner::kAssigned};
  DatabaseId id = 0;
  const auto [end, error] = std::from_chars(mark.data(), mark.data() + mark.size(), id, 16);
  if (error != std::errc() || end != mark.data() + mark.size()) return {Owner::kDatabase};
  return {Owner::kDatabase, id};
}

Result<Owner> owner_of(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return Owner{};
  const fs::path mark = folder / kMark;
  if (fs::is_regular_file(mark, error)) {
    constexpr std::size_t kLongest = 100;
    return read_file(mark, kLongest).map(owner_by).map_error([](Error unread) {
      return Error{ErrorCode::kStorage, std::move(unread.message)};
    });
  }
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!is_hidden(entry.path())) return Owner{Owner::kUnmarked};
  }
  if (!error) return Owner{};
  return fail(ErrorCode::kStorage,
              fmt::format("{}: cannot be read: {}", folder.string(), error.message()));
}

// Finds another database beside this one whose folder had the name `folder` in an older detol, and
// which has no folder of its own yet.
std::optional<fs::path> rival_for(const fs::path& folder, const Database& database) {
  std::error_code error;
  const fs::path beside = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  for (const auto& entry : fs::directory_iterator(beside, error)) {
    if (!entry.is_regular_file(error) || entry.path().filename() == database.path.filename())
      continue;
    const fs::path old = fs::path(entry.path()).replace_extension(".d");
    if (old.filename() != folder.filename() || !check_header(entry.path())) continue;
    const auto owner = owner_of(entry.path().string() + ".d");
    if (!owner || owner->kind != Owner::kDatabase) return entry.path();
  }
  return std::nullopt;
}

bool has_studies_of(const fs::path& folder, const Database& database) {
  std::error_code error;
  return std::ranges::any_of(database.studies, [&](const std::string& name) {
    return fs::is_directory(folder / name, error);
  });
}

std::string in_shell(const fs::path& path) {
  return fmt::format("'{}'", path.string());
}

// Describes how a user gives the folder `from` to the database.
std::string adopt(const fs::path& from, const Database& database) {
  const std::string mark = in_shell(database.folder() / kMark);
  if (from == database.folder()) return fmt::format(": > {}", mark);
  return fmt::format("mv {} {} && : > {}", in_shell(from), in_shell(database.folder()), mark);
}

// Returns true if the unmarked `folder` is this database's, as no other could have written it;
// false if nothing of this database is in it.
Result<bool> is_own(const fs::path& folder, const Database& database) {
  if (!has_studies_of(folder, database)) return false;
  const auto rival = rival_for(folder, database);
  if (!rival) return true;
  return fail(ErrorCode::kStorage,
              fmt::format("{} may hold checkpoints of {} or of {}; move it away, or, if it is the "
                          "first's: {}",
                          folder.string(), database.path.string(), rival->string(),
                          adopt(folder, database)));
}

tl::unexpected<Error> refused(const Database& database) {
  return fail(ErrorCode::kStorage,
              fmt::format("{} belongs to another database than {}; move it away, or, if it is this "
                          "one's: {}",
                          database.folder().string(), database.path.string(),
                          adopt(database.folder(), database)));
}

struct Found {
  fs::path folder;  // empty: not found
  bool is_marked = false;
};

// Finds the folder that an older detol created, or one whose renaming was killed.
Result<Found> find_old(const Database& database) {
  const fs::path old = database.old_folder();
  if (old == database.folder()) return Found{};
  DETOL_ASSIGN(const Owner owner, owner_of(old));
  if (owner.kind == Owner::kDatabase) {
    const bool is_ours = owner.id && owner.id == database.id && !rival_for(old, database);
    return is_ours ? Found{old, true} : Found{};
  }
  if (owner.kind != Owner::kUnmarked) return Found{};
  DETOL_ASSIGN(const bool is_ours, is_own(old, database));
  return is_ours ? Found{old} : Found{};
}

Result<Found> find(const Database& database) {
  DETOL_ASSIGN(const Owner owner, owner_of(database.folder()));
  switch (owner.kind) {
    case Owner::kNone:
      return find_old(database);
    case Owner::kAssigned:
      return Found{database.folder()};
    case Owner::kDatabase:
      if (owner.id && owner.id == database.id) return Found{database.folder(), true};
      return refused(database);
    case Owner::kUnmarked:
      break;
  }
  DETOL_ASSIGN(const bool is_ours, is_own(database.folder(), database));
  if (!is_ours) return refused(database);
  return Found{database.folder()};
}

Result<Database> describe(const fs::path& path, sqlite3* handle,
                          const std::vector<Study>& studies) {
  Database database{.path = path, .id = {}, .studies = {}};
  DETOL_ASSIGN(auto id, sqlite::Statement::prepare(handle, "SELECT database FROM identity"));
  DETOL_ASSIGN(const bool has_id, id.step());
  if (has_id) database.id = static_cast<DatabaseId>(id.integer(0));
  for (const Study& study : studies) database.studies.push_back(study.record.name);
  return database;
}

// Returns whether the studies need a folder: training leaves checkpoints, a function or table none.
bool is_missed_by(const std::vector<Study>& studies) {
  return std::ranges::any_of(studies, [](const Study& study) {
    const auto config = load_study_config(study.record.config, study.record.name);
    return study.last_seq > 0 && config && config->trains();
  });
}

Result<void> write_mark(const fs::path& folder, DatabaseId id) {
  return write_file_durably(folder / kMark, fmt::format("{:08x}\n", id));
}

// Removes files that killed processes left half written. REQUIRES: the folder is ours.
void remove_unfinished_files(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (is_hidden(entry.path()) && finished_name(entry.path().filename().string()))
      fs::remove(entry.path(), ignored);
  }
}

}  // namespace

fs::path artefact_folder(const fs::path& database, const std::string& study) {
  return Database{.path = real_path(database), .id = {}, .studies = {}}.folder() / study;
}

Result<fs::path> find_artefacts(const fs::path& database, const std::string& study) {
  DETOL_ASSIGN(auto readable, open_for_reading(database));
  DETOL_ASSIGN(const Database described, readable.read([&](sqlite3* handle) -> Result<Database> {
    DETOL_ASSIGN(const auto studies, read_studies(handle));
    return describe(real_path(database), handle, studies);
  }));
  DETOL_ASSIGN(const Found found, find(described));
  return (found.folder.empty() ? described.folder() : found.folder) / study;
}

Result<void> share_checkpoints(const fs::path& from, const fs::path& to) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(from, error)) {
    if (entry.path().extension() != ".ckpt") continue;
    const fs::path target = to / entry.path().filename();
    fs::create_directories(to, error);
    fs::create_hard_link(entry.path(), target, error);
    std::error_code ignored;
    if (error && fs::equivalent(entry.path(), target, ignored)) continue;  // shared before a kill
    if (error) DETOL_TRY(copy_into_place(entry.path(), target));
  }
  return {};
}

Result<void> check_no_artefacts(const fs::path& path) {
  const Database none{.path = path, .id = {}, .studies = {}};
  DETOL_ASSIGN(const Owner owner, owner_of(none.folder()));
  if (owner.kind != Owner::kDatabase) return find(none).map([](const Found&) {});
  return fail(ErrorCode::kStorage,
              fmt::format("{0} is left from a database that is not there any more, {1}; to begin "
                          "afresh, remove it, too: rm -r {2}; to go on, put {1} back ({3})",
                          none.folder().string(), path.string(), in_shell(none.folder()),
                          last_backup(path) ? "`detol db restore` has a backup"
                                            : "there is no backup of it here"));
}

Result<ArtefactClaim> claim_artefacts(const fs::path& path, sqlite3* handle) {
  DETOL_ASSIGN(const auto studies, read_studies(handle));
  DETOL_ASSIGN(const Database database, describe(path, handle, studies));
  DETOL_ASSIGN(Found found, find(database));
  if (found.folder.empty() && is_missed_by(studies)) {
    log_warning(
        "{} has no folder of checkpoints, {}: trials that had begun begin again; if the folder is "
        "elsewhere: stop, put it there, and : > {}",
        path.string(), database.folder().string(), in_shell(database.folder() / kMark));
  }
  const bool needs_id = found.folder.empty() || !database.id;
  return ArtefactClaim{needs_id ? std::random_device{}() : *database.id, std::move(found.folder),
                       found.is_marked};
}

Result<void> apply_claim(const fs::path& path, const ArtefactClaim& claim) {
  const fs::path folder = Database{.path = path, .id = {}, .studies = {}}.folder();
  std::error_code error;
  if (claim.from.empty()) fs::create_directory(folder, error);
  if (error) {
    return fail(ErrorCode::kStorage,
                fmt::format("cannot create {}: {}", folder.string(), error.message()));
  }
  const fs::path from = claim.from.empty() ? folder : claim.from;
  if (!claim.is_marked) DETOL_TRY(write_mark(from, claim.id));
  if (from != folder) {
    DETOL_TRY(rename_durably(from, folder));
    log_info("{} is called {} now: it belongs to {} alone", from.string(), folder.string(),
             path.string());
  }
  remove_unfinished_files(folder);
  return {};
}

}  // namespace detol::inline knowledge
