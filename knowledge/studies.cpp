#include "knowledge/studies.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <system_error>

#include "core/clock.h"
#include "core/table.h"
#include "encodings/study/study_config.h"
#include "knowledge/artefacts.h"
#include "knowledge/event_writer_impl.h"
#include "knowledge/folder_intent_impl.h"
#include "knowledge/reader_impl.h"
#include "knowledge/requests.h"
#include "knowledge/rows_impl.h"
#include "knowledge/writable_database_impl.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;
using sqlite::Statement;

// Opens the database, but creates nothing where there is none.
Result<WritableDatabase> open_existing(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error)) return WritableDatabase::open(path, Access::kExclusive);
  return fail(ErrorCode::kStudy, fmt::format("no study: there is no database at {}; run `detol "
                                             "search`, or pass another --storage",
                                             path.string()));
}

Result<Study> study_to_change(WritableDatabase& writing, const std::string& name) {
  return writing.pages().run([&] { return find_study(writing.database(), name); });
}

// Runs `body`, whose changes are undone if it fails, in one transaction.
Result<void> commit_change(WritableDatabase& writing, const std::function<Result<void>()>& body) {
  return writing.pages().run([&] { return writing.in_transaction(body); });
}

// Checks that no study has a new name, and that no folder has it.
Result<void> check_is_free(const fs::path& path, WritableDatabase& writing,
                           const std::string& name) {
  DETOL_ASSIGN(const auto known,
               writing.pages().run([&] { return study_named(writing.database(), name); }));
  if (known) return fail(ErrorCode::kStudy, fmt::format("study '{}' exists already", name));
  std::error_code error;
  const fs::path folder = artefact_folder(path, name);
  if (!fs::exists(folder, error)) return {};
  return fail(
      ErrorCode::kStorage,
      fmt::format("{} is in the way; it belongs to no study: move it away", folder.string()));
}

tl::unexpected<Error> not_copied(const fs::path& file, const std::error_code& error) {
  return fail(ErrorCode::kStorage,
              fmt::format("{} cannot be copied: {}", file.string(), error.message()));
}

// Shares a finished checkpoint, which never changes, as a hard link, if possible; copies other
// files.
Result<void> share_or_copy(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (from.extension() == ".ckpt") fs::create_hard_link(from, to, error);
  if (from.extension() == ".ckpt" && !error) return {};
  error.clear();
  fs::copy_file(from, to, error);
  if (error) return not_copied(from, error);
  return {};
}

Result<void> sync_file_system(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_synced = file >= 0 && ::syncfs(file) == 0;
  const std::error_code error(errno, std::generic_category());
  if (file >= 0) ::close(file);
  if (is_synced) return {};
  return fail(ErrorCode::kStorage, fmt::format("fsync {}: {}", folder.string(), error.message()));
}

Result<void> copy_folder(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (!fs::exists(from, error)) return {};
  fs::create_directory(to, error);
  if (error) return not_copied(from, error);
  for (fs::recursive_directory_iterator at(from, error), end; !error && at != end;
       at.increment(error)) {
    const fs::path target = to / at->path().lexically_relative(from);
    if (at->is_directory(error)) {
      fs::create_directory(target, error);
      if (error) return not_copied(at->path(), error);
    } else if (at->is_regular_file(error) && !is_of_a_run(at->path())) {
      DETOL_TRY(share_or_copy(at->path(), target));
    }
  }
  if (error) return not_copied(from, error);
  return sync_file_system(to);
}

Result<void> write_name(sqlite3* database, const StudyRecord& record) {
  DETOL_ASSIGN(
      auto update,
      Statement::prepare(database, "UPDATE studies SET name = ?2, checksum = ?3 WHERE id = ?1"));
  update.bind(1, record.id);
  update.bind(2, std::string_view(record.name));
  update.bind(3, checksum(record));
  return update.run();
}

// Copies a study's events to a new study, with the checksums that follow from its number.
Result<void> write_copy(sqlite3* database, const Study& original, const std::string& name) {
  DETOL_ASSIGN(EventWriter writer, EventWriter::make(database));
  Study copy{original.record, original.wall_s, original.device_s};
  DETOL_ASSIGN(copy.record.id, next_study_id(database));
  copy.record.name = name;
  copy.record.created_s = system_clock().wall_s();
  DETOL_TRY(writer.create(copy));
  DETOL_ASSIGN(const auto events, read_numbered(database, original));
  for (const NumberedEvent& each : events) DETOL_TRY(writer.add(copy, each.event));
  return writer.save(copy);
}

Result<void> erase(sqlite3* database, StudyId id) {
  for (const char* sql :
       {"DELETE FROM events WHERE study = ?1", "DELETE FROM progress WHERE study = ?1",
        "DELETE FROM writers WHERE study = ?1", "DELETE FROM studies WHERE id = ?1"}) {
    DETOL_ASSIGN(auto statement, Statement::prepare(database, sql));
    statement.bind(1, id);
    DETOL_TRY(statement.run());
  }
  return {};
}

Result<StudySize> size_of(const fs::path& folder, sqlite3* database, const StudyRecord& record) {
  DETOL_ASSIGN(auto count, Statement::prepare(database,
                                              "SELECT count(*) FROM events INDEXED BY "
                                              "events_by_trial WHERE study = ?1 AND kind = "
                                              "'asked'"));
  count.bind(1, record.id);
  DETOL_TRY(count.step());
  StudySize size{.trials = count.integer(0)};
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (!at->is_regular_file(error)) continue;
    ++size.files;
    size.bytes += static_cast<std::int64_t>(at->file_size(error));
  }
  return size;
}

Result<StudySize> size_of(const fs::path& database, WritableDatabase& writing,
                          const StudyRecord& record) {
  return writing.pages().run(
      [&] { return size_of(artefact_folder(database, record.name), writing.database(), record); });
}

}  // namespace

bool is_of_a_run(const fs::path& file) {
  return is_request(file) || file.filename() == kJoinFile;
}

Result<void> check_new_name(const std::string& name) {
  if (is_study_name(name) && !name.starts_with('-')) return {};
  return fail(ErrorCode::kUsage,
              fmt::format("{} cannot be a study's name: {}, and no '-' or '.' first",
                          in_quotes(name), kStudyNameRule));
}

Result<StudySize> measure_study(const fs::path& database, const std::string& name) {
  DETOL_ASSIGN(const fs::path folder, find_artefacts(database, name));
  DETOL_ASSIGN(auto readable, open_for_reading(database));
  return readable.read([&](sqlite3* handle) -> Result<StudySize> {
    DETOL_ASSIGN(const Study study, find_study(handle, name));
    return size_of(folder, handle, study.record);
  });
}

Result<void> rename_study(const fs::path& database, const std::string& name,
                          const std::string& new_name) {
  DETOL_TRY(check_new_name(new_name));
  DETOL_ASSIGN(WritableDatabase writing, open_existing(database));
  DETOL_ASSIGN(Study study, study_to_change(writing, name));
  DETOL_TRY(check_is_free(database, writing, new_name));
  study.record.name = new_name;
  return with_intent(database, writing.pages(), {name, new_name}, [&] {
    return commit_change(writing, [&] { return write_name(writing.database(), study.record); });
  });
}

Result<StudySize> copy_study(const fs::path& database, const std::string& name,
                             const std::string& new_name) {
  DETOL_TRY(check_new_name(new_name));
  DETOL_ASSIGN(WritableDatabase writing, open_existing(database));
  DETOL_ASSIGN(const Study study, study_to_change(writing, name));
  DETOL_TRY(check_is_free(database, writing, new_name));
  DETOL_ASSIGN(const StudySize size, size_of(database, writing, study.record));
  const auto copy = [&]() -> Result<void> {
    DETOL_TRY(copy_folder(artefact_folder(database, name), artefact_folder(database, new_name)));
    return commit_change(writing, [&] { return write_copy(writing.database(), study, new_name); });
  };
  DETOL_TRY(with_intent(database, writing.pages(), {new_name, ""}, copy));
  return size;
}

Result<StudySize> delete_study(const fs::path& database, const std::string& name) {
  DETOL_ASSIGN(WritableDatabase writing, open_existing(database));
  DETOL_ASSIGN(const Study study, study_to_change(writing, name));
  DETOL_ASSIGN(const StudySize size, size_of(database, writing, study.record));
  DETOL_TRY(with_intent(database, writing.pages(), {name, ""}, [&] {
    return commit_change(writing, [&] { return erase(writing.database(), study.record.id); });
  }));
  return size;
}

}  // namespace detol::inline knowledge
